// An external authorization policy decides every access: to single objects, to lists, in batches, and by all other access
// paths.
import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ServiceError } from '../../src/core/errors.ts';
import type { AccessQuestion, AuthorizationPolicy } from '../../src/engine/access.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import { startTestService, type TestClient, type TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { ModuleFolder } from '../support/modules.ts';

/** What the policy does; set by each test. */
let decide: AuthorizationPolicy['decide'] = ({ byDefault }) => byDefault();
let selectObjects: NonNullable<AuthorizationPolicy['selectObjects']> = (_question, shared) => shared;
let asked: string[] = [];

const authorization: AuthorizationPolicy = {
  decide(question) {
    const { kind, permission, on, ids } = question;
    asked.push([permission, kind, on, ids['record_id'] ?? ids['note_id'] ?? ''].join(' ').trim());
    return decide(question);
  },
  selectObjects: (question, shared) => selectObjects(question, shared),
};

const notes = definePlugin({
  name: 'notes',
  setup: () => ({ kinds: [{ name: 'note', path: '/notes', flavour: 'user', idGenerator: 'RelaxedUUID' }] }),
});

/** Nothing that is called so may be touched, and lists only object by object. */
const hiding = ({ on, ids, byDefault, kind }: AccessQuestion): boolean | Promise<boolean> => {
  if (kind !== 'record') return byDefault();
  if (on === 'list') return false;
  return ids['record_id'] === 'hidden' ? false : byDefault();
};

forEachBackend((backend) => {
  describe(`an authorization policy on ${backend.name}`, () => {
    let service: TestService;
    let alice: TestClient;
    let bob: TestClient;
    let bobId = '';
    let bucket = '';
    let records = '';

    beforeAll(async () => {
      const settings = { includes: 'default_bucket', experimental_permissions_endpoint: 'true' };
      service = await backend.start({ authorization, plugins: [notes], settings });
      [alice, bob] = [service.asUser('alice'), service.asUser('bob')];
      const { body } = await bob.request('GET', '/v1/');
      bobId = (body as { user: { id: string } }).user.id;
    });
    afterAll(() => service.close());
    beforeEach(async () => {
      decide = ({ byDefault }) => byDefault();
      selectObjects = (_question, shared) => shared;
      bucket = `/v1/buckets/${randomUUID()}`;
      records = `${bucket}/collections/c/records`;
      await alice.request('PUT', bucket);
      await alice.request('PUT', `${bucket}/collections/c`);
      const body = { permissions: { write: [bobId] } };
      for (const id of ['a', 'b', 'hidden']) await alice.request('PUT', `${records}/${id}`, { body });
      asked = [];
    });

    const statusOf = async (client: TestClient, method: string, path: string, body?: unknown): Promise<number> =>
      (await client.request(method, path, body === undefined ? {} : { body })).status;
    const idsOf = async (client: TestClient, path: string): Promise<unknown> => {
      const { body } = await client.request('GET', path);
      return (body as { data: { id: string }[] }).data.map(({ id }) => id);
    };

    it.each([
      ['GET', '/a', 'read record object a'],
      ['PUT', '/a', 'write record object a'],
      ['PATCH', '/a', 'write record object a'],
      ['DELETE', '/a', 'write record object a'],
      ['PUT', '/new', 'create record list new'],
      ['GET', '', 'read record list'],
      ['DELETE', '', 'write record list'],
    ])('decides about %s of records%s.', async (method, id, question) => {
      await alice.request(method, `${records}${id}`, method === 'PATCH' ? { body: { data: { n: 1 } } } : {});
      // Whether the object exists may be asked for at the same time, so other questions may come as well.
      expect(asked).toContain(question);
    });

    it('can return the decision of settings and entries.', async () => {
      expect(await statusOf(alice, 'GET', `${records}/a`)).toBe(200);
      expect(await statusOf(bob, 'GET', `${records}/a`)).toBe(200);
      expect(await statusOf(bob, 'GET', bucket)).toBe(403);
      expect(await statusOf(service, 'GET', `${records}/a`)).toBe(401);
      expect(await idsOf(bob, `${records}?_sort=id`)).toEqual(['a', 'b', 'hidden']);
    });

    it('may refuse single objects, wherever they are reached.', async () => {
      decide = hiding;
      for (const method of ['GET', 'PUT', 'DELETE']) {
        expect(await statusOf(bob, method, `${records}/hidden`), method).toBe(403);
      }
      expect(await statusOf(bob, 'PATCH', `${records}/hidden`, { data: { n: 1 } })).toBe(403);
      expect(await statusOf(bob, 'POST', records, { data: { id: 'hidden' } })).toBe(403);
      expect(await idsOf(bob, `${records}?_sort=id`)).toEqual(['a', 'b']);
      expect(await bob.request('HEAD', records)).toMatchObject({ headers: { 'total-objects': '2' } });
      const path = records.slice('/v1'.length);
      const requests = [{ path: `${path}/hidden` }, { path: `${path}/a` }, { path: `${path}?_sort=id` }];
      expect(await bob.request('POST', '/v1/batch', { body: { requests } })).toMatchObject({
        body: {
          responses: [{ status: 403 }, { status: 200 }, { status: 200, body: { data: [{ id: 'a' }, { id: 'b' }] } }],
        },
      });
      expect(await bob.request('DELETE', records)).toMatchObject({ status: 200, body: { data: [{}, {}] } });
      decide = ({ byDefault }) => byDefault();
      expect(await idsOf(alice, records)).toEqual(['hidden']);
    });

    it('may grant access without an entry.', async () => {
      decide = async ({ caller, kind, permission, byDefault }) =>
        (await byDefault()) || (kind === 'record' && permission === 'read' && caller.userId === bobId);
      await alice.request('PUT', `${records}/mine`);
      expect(await statusOf(bob, 'GET', `${records}/mine`)).toBe(200);
      expect(await idsOf(bob, `${records}?_sort=id`)).toEqual(['a', 'b', 'hidden', 'mine']);
      expect(await statusOf(bob, 'DELETE', `${records}/mine`)).toBe(403);
      expect(await statusOf(service.asUser('carol'), 'GET', `${records}/mine`)).toBe(403);
    });

    it('may choose the objects of a list.', async () => {
      decide = ({ on, byDefault }) => (on === 'list' ? false : byDefault());
      selectObjects = ({ kind }, shared) => (kind === 'record' ? [...shared.filter((id) => id !== 'a'), 'extra'] : []);
      await alice.request('PUT', `${records}/a`);
      expect(await idsOf(bob, `${records}?_sort=id`)).toEqual(['b', 'hidden']);
      expect(await idsOf(bob, `${records}?_limit=1&_sort=-id`)).toEqual(['hidden']);
      selectObjects = () => [];
      expect(await statusOf(bob, 'GET', records)).toBe(403);
    });

    it('must choose a list of ids.', async () => {
      decide = ({ on, byDefault }) => (on === 'list' ? false : byDefault());
      for (const wrong of ['abc', undefined, null, new Set(['a']), ['a', 1], { length: 1 }]) {
        selectObjects = (() => wrong) as unknown as typeof selectObjects;
        for (const method of ['GET', 'DELETE']) expect(await statusOf(bob, method, records)).toBe(500);
        expect(await statusOf(bob, 'GET', `${records}/a`)).toBe(200);
      }
    });

    it('decides about the list of permissions.', async () => {
      const uri = records.slice('/v1'.length);
      const listed = async (): Promise<unknown> => {
        const { body } = await bob.request('GET', `/v1/permissions?like_uri=${bucket.slice('/v1'.length)}*&_sort=uri`);
        return (body as { data: { uri: string }[] }).data.map((entry) => entry.uri);
      };
      expect(await listed()).toEqual([`${uri}/a`, `${uri}/b`, `${uri}/hidden`]);
      decide = hiding;
      expect(await listed()).toEqual([`${uri}/a`, `${uri}/b`]);
    });

    it('decides about implicit creations in the personal bucket.', async () => {
      decide = ({ kind, permission, byDefault }) =>
        kind === 'bucket' && permission === 'create' ? false : byDefault();
      const user = service.asUser(randomUUID());
      expect(await statusOf(user, 'PUT', '/v1/buckets/default/collections/c/records/r')).toBe(403);
      decide = ({ byDefault }) => byDefault();
      expect(await statusOf(user, 'PUT', '/v1/buckets/default/collections/c/records/r')).toBe(201);
    });

    it('may restrict user resources, and never opens them to anonymous callers.', async () => {
      decide = ({ permission, byDefault }) => (permission === 'create' ? false : byDefault());
      expect(await statusOf(alice, 'PUT', '/v1/notes/n')).toBe(403);
      decide = () => true;
      selectObjects = () => ['n'];
      expect(await statusOf(service, 'GET', '/v1/notes')).toBe(401);
      expect(await statusOf(service, 'PUT', '/v1/notes/n')).toBe(401);
    });

    it('fails the request when it fails, and grants access only by true.', async () => {
      decide = () => {
        throw new Error('a secret');
      };
      const answer = await alice.request('GET', `${records}/a`);
      expect(answer).toMatchObject({ status: 500, body: { errno: 999 } });
      expect(answer.text).not.toContain('secret');
      decide = () => {
        throw new ServiceError('forbidden', { message: 'not on Sundays' });
      };
      expect(await alice.request('GET', `${records}/a`)).toMatchObject({
        status: 403,
        body: { message: 'not on Sundays' },
      });
      decide = (() => 'yes') as unknown as typeof decide;
      expect(await statusOf(alice, 'GET', `${records}/a`)).toBe(403);
    });
  });
});

forEachBackend((backend) => {
  it(`A policy that does not decide in time undoes the request and delays no others, on ${backend.name}.`, async () => {
    const lines: unknown[] = [];
    const write = (...line: unknown[]): void => void lines.push(line);
    const service = await backend.start({
      authorization,
      settings: { authorization_timeout_seconds: '0.2' },
      logger: { debug: write, info: write, warn: write, error: write },
    });
    try {
      const alice = service.asUser('alice');
      decide = ({ byDefault }) => byDefault();
      await alice.request('PUT', '/v1/buckets/b');
      await alice.request('PUT', '/v1/buckets/b/collections/c');
      const records = '/buckets/b/collections/c/records';
      decide = ({ ids, byDefault }) => (ids['record_id'] === 'hang' ? new Promise(() => {}) : byDefault());
      const requests = ['first', 'hang'].map((id) => ({ method: 'PUT', path: `${records}/${id}` }));
      const batch = alice.request('POST', '/v1/batch', { body: { requests } });
      const others = await Promise.all([batch, alice.request('PUT', `/v1${records}/other`)]);
      expect(others.map(({ status }) => status)).toEqual([503, 201]);
      expect(inspect(lines, { depth: 20 })).toContain(
        'The authorization policy of the program has not finished decide',
      );
      expect((await alice.request('GET', `/v1${records}/first`)).status).toBe(404);
    } finally {
      await service.close();
    }
  });
});

describe('multiauth.authorization_policy', () => {
  const closed = definePlugin({
    name: 'closed',
    setup: () => ({
      authorizations: { Closed: () => ({ decide: () => false }), Odd: () => ({}) as AuthorizationPolicy },
    }),
  });
  const start = (policy: string): Promise<TestService> =>
    startTestService({ plugins: [closed], settings: { 'multiauth.authorization_policy': policy } });
  let folder: ModuleFolder;
  beforeAll(async () => {
    folder = await ModuleFolder.enter();
    const factory =
      '(host) => ({ decide: ({ caller }) => caller.userId === undefined && host.versionPrefix === "/v1" })';
    await folder.write('policy.mjs', `export const createAuthorization = ${factory};`);
    await folder.install('policy-package', `export default ${factory};`);
    await folder.write('empty.mjs', 'export const something = 1;');
  });
  afterAll(() => folder.remove());

  it.each([
    ['kinto.authorization.AuthorizationPolicy', 201, 401],
    ['Closed', 403, 401],
    ['./policy.mjs', 403, 201],
    ['policy-package', 403, 201],
  ])('names %s.', async (policy, forAlice, forAnybody) => {
    const service = await start(policy);
    expect((await service.asUser('alice').request('PUT', '/v1/buckets/b')).status).toBe(forAlice);
    expect((await service.request('PUT', '/v1/buckets/c')).status).toBe(forAnybody);
    await service.close();
  });

  it.each([
    ['Closd', 'multiauth.authorization_policy names Closd, which cannot be used: No package Closd was found'],
    ['our.AuthorizationPolicy', 'No package our.AuthorizationPolicy was found'],
    ['./empty.mjs', 'that module exports no function createAuthorization'],
    ['Odd', 'it has no method decide'],
  ])('prevents the start as %s.', async (policy, message) => {
    await expect(start(policy)).rejects.toThrow(message);
  });
});
