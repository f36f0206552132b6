// Followers of a list with purged deletions get a header, or an error response if a setting requires it.
import { describe, expect, it } from 'vitest';
import { forEachBackend } from '../support/backends.ts';
import { forgetting } from '../support/forgetting.ts';
import { absent, ids } from './match.ts';
import { describeScenarios, type Scenario, type Step } from './scenarios.ts';

const forget = 'POST /forget?parent={C}';

/** A record that stays and one that was deleted; what a client saw before (`seen`), and the deletion (`gone`). */
const deleted: readonly Step[] = [
  { request: 'PUT {R}/stays' },
  { request: 'PUT {R}/goes' },
  { request: 'GET {R}', save: 'seen' },
  { request: 'DELETE {R}/goes', save: 'gone' },
  { request: 'PUT {R}/new' },
];

const forgotten = [...deleted, forget] as const;

/** The header that names the moment of the deletion. */
const told = { resync: '{gone.etag}' };

const silent = { resync: absent };

describeScenarios(
  'deletions that were forgotten',
  [
    {
      name: 'Nothing is reported while the tombstone exists.',
      given: ['collection', ...deleted],
      request: 'GET {R}?_since={seen.time}',
      gives: silent,
      body: { data: ids('new goes') },
    },
    {
      name: 'A client that missed a purged deletion gets the time of the last one.',
      given: ['collection', ...forgotten],
      request: 'GET {R}?_since={seen.time}',
      status: 200,
      gives: told,
      body: { data: ids('new') },
    },
    {
      name: 'A client that has seen the deletion gets no header.',
      given: ['collection', ...forgotten],
      request: 'GET {R}?_since={gone.time}',
      gives: silent,
      body: { data: ids('new') },
      then: [{ request: 'GET {R}?_since={gone.time-1}', gives: told }],
    },
    {
      name: 'Lower bounds by other parameters have the same effect.',
      given: ['collection', ...forgotten],
      request: 'GET {R}?gt_last_modified={seen.time}&exclude_id=x,y',
      gives: told,
      then: [
        { request: 'GET {R}?min_last_modified={gone.time}', gives: told },
        { request: 'GET {R}?min_last_modified={gone.time+1}', gives: silent },
        { request: 'GET {R}?_since="{seen.time}"&_before={gone.time}', gives: told },
        { request: 'GET {R}?_since={seen.time}&_sort=a&_fields=a', gives: told },
        { request: 'GET {R}?_since={seen.time}&min_last_modified={gone.time+1}', gives: silent },
      ],
    },
    {
      name: 'A first read, or a read without a lower bound, gets no header.',
      given: ['collection', ...forgotten],
      request: 'GET {R}',
      gives: silent,
      then: [
        { request: 'GET {R}?_since=0', gives: silent },
        { request: 'GET {R}?min_last_modified=1', gives: silent },
        { request: 'GET {R}?_before={gone.time}', gives: silent },
        { request: 'GET {R}?last_modified={gone.time}', gives: silent },
        { request: 'HEAD {R}?_since={seen.time}', gives: silent },
      ],
    },
    {
      name: 'Every page of such a response has the header.',
      given: ['collection', ...forgotten, 'PUT {R}/newer'],
      request: 'GET {R}?_since={seen.time}&_limit=1',
      gives: told,
      save: 'first',
      then: [{ request: 'GET {first.next}', gives: told, body: { data: ids('new') } }],
    },
    {
      name: 'A poll without changes gets no header, whatever was purged.',
      given: ['collection', ...forgotten, { request: 'GET {R}', save: 'now' }],
      request: 'GET {R}?_since={now.time}',
      gives: silent,
      body: { data: [] },
      then: [{ request: 'GET {R}', headers: { 'If-None-Match': '{now.etag}' }, status: 304, gives: silent }],
    },
    {
      name: 'Of several deletions the latest purged one counts, not one with a tombstone.',
      given: [
        'collection',
        ...deleted,
        { request: 'DELETE {R}/new', save: 'later' },
        'POST /forget?parent={C}&before={later.time}',
      ],
      request: 'GET {R}?_since={seen.time}',
      gives: told,
      body: { data: ids('new') },
      then: [{ request: 'GET {R}?_since={gone.time}', gives: silent, body: { data: ids('new') } }],
    },
    {
      name: 'Records deleted with their collection leave no tombstones, and followers get the header when it is recreated.',
      given: [
        'collection',
        'PUT {R}/goes',
        { request: 'GET {R}', save: 'seen' },
        'DELETE {C}',
        'PUT {C}',
        { request: 'GET {R}', save: 'now' },
      ],
      request: 'GET {R}?_since={seen.time}',
      gives: { resync: '{now.etag}' },
      body: { data: [] },
      then: [
        'PUT {R}/new',
        { request: 'GET {R}?_since={seen.time}', gives: { resync: '{now.etag}' }, body: { data: ids('new') } },
        { request: 'GET {R}?_since={now.time}', gives: silent, body: { data: ids('new') } },
      ],
    },
    {
      name: 'Followers get the header when a bucket is deleted and recreated.',
      given: ['collection', 'PUT {R}/goes', { request: 'GET {R}', save: 'seen' }, 'DELETE {B}', 'PUT {B}', 'PUT {C}'],
      request: 'GET {R}?_since={seen.time}',
      gives: { resync: /^"\d+"$/ },
      body: { data: [] },
    },
    {
      name: 'Tombstones deleted with a collection count as purged.',
      given: [
        'collection',
        'PUT {R}/goes',
        { request: 'GET {R}', save: 'seen' },
        { request: 'DELETE {R}/goes', save: 'gone' },
        'DELETE {C}',
        'PUT {C}',
      ],
      request: 'GET {R}?_since={seen.time}',
      gives: told,
      then: [{ request: 'GET {R}?_since={gone.time}', gives: silent }],
    },
    {
      name: 'A deletion of the whole list leaves tombstones, so followers get no header.',
      given: ['collection', 'PUT {R}/goes', { request: 'GET {R}', save: 'seen' }, 'DELETE {R}'],
      request: 'GET {R}?_since={seen.time}',
      gives: silent,
      body: { data: ids('goes') },
    },
    {
      name: 'A reader of shared objects gets the header too.',
      given: ['collection', ...forgotten, 'PUT {R}/shared {"permissions":{"read":["system.Authenticated"]}}'],
      request: 'bob: GET {R}?_since={seen.time}',
      gives: told,
      body: { data: ids('shared') },
    },
    {
      name: 'Entries of a batch get the header like requests.',
      given: ['collection', ...forgotten],
      request: 'POST /batch {"requests":[{"method":"GET","path":"{R}?_since={seen.time}"}]}',
      body: { responses: [{ status: 200, headers: { Resync: '{gone.etag}' } }] },
    },
    {
      name: 'Scripts of other origins may read the header.',
      given: ['collection', ...forgotten],
      request: 'GET {R}?_since={seen.time}',
      headers: { Origin: 'https://app.example.org' },
      gives: { ...told, 'access-control-expose-headers': /\bResync\b/ },
    },
  ] satisfies readonly Scenario[],
  { plugins: [forgetting] },
);

describeScenarios(
  'refusals of those who missed deletions that were forgotten',
  [
    {
      name: 'A client that missed deletions gets 410, with the remedy.',
      given: ['collection', ...forgotten],
      request: 'GET {R}?_since={seen.time}',
      status: 410,
      gives: told,
      body: {
        errno: 107,
        error: 'Gone',
        message: /whole list/,
        details: [{ location: 'querystring', name: '_since' }],
      },
      then: [
        { request: 'GET {R}?_limit=1&min_last_modified={seen.time}', status: 410 },
        { request: 'GET {R}', status: 200, gives: silent },
        { request: 'GET {R}?_since={gone.time}', status: 200, gives: silent },
        { request: 'GET {R}?_since=0', status: 200 },
      ],
    },
    {
      name: 'A client of an unchanged list is not refused.',
      given: ['collection', ...forgotten, { request: 'GET {R}', save: 'now' }],
      request: 'GET {R}?_since={seen.time}',
      headers: { 'If-None-Match': '{now.etag}' },
      status: 304,
    },
    {
      name: 'A caller without read access learns nothing about the list.',
      given: ['collection', ...forgotten],
      request: 'bob: GET {R}?_since={seen.time}',
      status: 403,
      gives: silent,
    },
    {
      name: 'An entry of a batch is refused alone.',
      given: ['collection', ...forgotten],
      request:
        'POST /batch {"requests":[{"method":"GET","path":"{R}?_since={seen.time}"},{"method":"GET","path":"{R}/stays"}]}',
      body: { responses: [{ status: 410 }, { status: 200 }] },
    },
    {
      name: 'The header is announced as a capability.',
      request: 'GET /',
      body: { capabilities: { resync: { description: /Resync/ } } },
    },
  ] satisfies readonly Scenario[],
  { plugins: [forgetting], settings: { refuse_outdated_since: 'true' } },
);

forEachBackend((backend) => {
  describe(`changesets after purged deletions on ${backend.name}`, () => {
    it.each([false, true])(
      'have the header like lists, and are refused when the setting (%s) requires it.',
      async (refuses) => {
        const settings = {
          includes: 'changes',
          'changes.resources': '/buckets/main',
          refuse_outdated_since: String(refuses),
        };
        const service = await backend.start({ plugins: [forgetting], settings });
        try {
          const alice = service.asUser('alice');
          const collection = '/v1/buckets/main/collections/c';
          for (const path of ['/v1/buckets/main', collection, `${collection}/records/goes`]) {
            await alice.request('PUT', path, { body: { permissions: { read: ['system.Everyone'] } } });
          }
          const { headers: seen } = await alice.request('GET', `${collection}/records`);
          const { headers: gone } = await alice.request('DELETE', `${collection}/records/goes`);
          const since = (etag = ''): string => `${collection}/changeset?_expected=0&_since=${encodeURIComponent(etag)}`;
          expect((await service.request('GET', since(seen['etag']))).headers['resync']).toBeUndefined();
          await alice.request('POST', '/v1/forget');
          const answer = await service.request('GET', since(seen['etag']));
          expect(answer.status).toBe(refuses ? 410 : 200);
          expect(answer.headers['resync']).toBe(gone['etag']);
          const later = await service.request('GET', since(gone['etag']));
          expect([later.status, later.headers['resync']]).toEqual([200, undefined]);
          const whole = await service.request('GET', `${collection}/changeset?_expected=0`);
          expect([whole.status, whole.headers['resync']]).toEqual([200, undefined]);
        } finally {
          await service.close();
        }
      },
    );
  });
});
