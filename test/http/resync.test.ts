// Followers of a list whose deletions were forgotten are told so: by a header, or by a refusal where a setting says so.
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
      name: 'As long as the tombstone is there nothing is said.',
      given: ['collection', ...deleted],
      request: 'GET {R}?_since={seen.time}',
      gives: silent,
      body: { data: ids('new goes') },
    },
    {
      name: 'Who has not seen a deletion that was forgotten is told up to when there were some.',
      given: ['collection', ...forgotten],
      request: 'GET {R}?_since={seen.time}',
      status: 200,
      gives: told,
      body: { data: ids('new') },
    },
    {
      name: 'Who has seen it is not told.',
      given: ['collection', ...forgotten],
      request: 'GET {R}?_since={gone.time}',
      gives: silent,
      body: { data: ids('new') },
      then: [{ request: 'GET {R}?_since={gone.time-1}', gives: told }],
    },
    {
      name: 'Lower bounds by other names are the same question.',
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
      name: 'Who knows nothing yet, or asks for no changes, has missed nothing.',
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
      name: 'Every page of such an answer tells.',
      given: ['collection', ...forgotten, 'PUT {R}/newer'],
      request: 'GET {R}?_since={seen.time}&_limit=1',
      gives: told,
      save: 'first',
      then: [{ request: 'GET {first.next}', gives: told, body: { data: ids('new') } }],
    },
    {
      name: 'A poll that finds nothing new has missed nothing, whatever was forgotten.',
      given: ['collection', ...forgotten, { request: 'GET {R}', save: 'now' }],
      request: 'GET {R}?_since={now.time}',
      gives: silent,
      body: { data: [] },
      then: [{ request: 'GET {R}', headers: { 'If-None-Match': '{now.etag}' }, status: 304, gives: silent }],
    },
    {
      name: 'Of several deletions the latest that is forgotten counts, not one that is remembered.',
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
      name: 'Records that went with their collection leave no tombstones, and followers are told when it is made again.',
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
      name: 'So are they when a bucket is deleted and made again.',
      given: ['collection', 'PUT {R}/goes', { request: 'GET {R}', save: 'seen' }, 'DELETE {B}', 'PUT {B}', 'PUT {C}'],
      request: 'GET {R}?_since={seen.time}',
      gives: { resync: /^"\d+"$/ },
      body: { data: [] },
    },
    {
      name: 'Tombstones that went with a collection count as forgotten.',
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
      name: 'A deletion of the whole list leaves tombstones, so nothing has to be told.',
      given: ['collection', 'PUT {R}/goes', { request: 'GET {R}', save: 'seen' }, 'DELETE {R}'],
      request: 'GET {R}?_since={seen.time}',
      gives: silent,
      body: { data: ids('goes') },
    },
    {
      name: 'Who reads only what was shared is told as well.',
      given: ['collection', ...forgotten, 'PUT {R}/shared {"permissions":{"read":["system.Authenticated"]}}'],
      request: 'bob: GET {R}?_since={seen.time}',
      gives: told,
      body: { data: ids('shared') },
    },
    {
      name: 'Entries of a batch are told like requests.',
      given: ['collection', ...forgotten],
      request: 'POST /batch {"requests":[{"method":"GET","path":"{R}?_since={seen.time}"}]}',
      body: { responses: [{ status: 200, headers: { Resync: '{gone.etag}' } }] },
    },
    {
      name: 'Pages of other sites may read the header.',
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
      name: 'Who has missed something gets 410, which says what to do.',
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
      name: 'Who has missed nothing, as nothing has changed, is not refused.',
      given: ['collection', ...forgotten, { request: 'GET {R}', save: 'now' }],
      request: 'GET {R}?_since={seen.time}',
      headers: { 'If-None-Match': '{now.etag}' },
      status: 304,
    },
    {
      name: 'Who may not read the list is told nothing of it.',
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
      name: 'That lists tell such things is a capability.',
      request: 'GET /',
      body: { capabilities: { resync: { description: /Resync/ } } },
    },
  ] satisfies readonly Scenario[],
  { plugins: [forgetting], settings: { refuse_outdated_since: 'true' } },
);

forEachBackend((backend) => {
  describe(`changesets after deletions that were forgotten on ${backend.name}`, () => {
    it.each([false, true])('tell so as lists do, and refuse where the setting (%s) says so.', async (refuses) => {
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
    });
  });
});
