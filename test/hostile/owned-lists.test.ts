// Attacks on lists that belong to callers: on the lists of other users and other teams, by ids, entries, principals, owners
// that look like paths and patterns, and through what plugins do with places.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runAtOnce } from '../../src/base/steps.ts';
import { storedUserId } from '../../src/core/permissions/principals.ts';
import { anonymous, authenticatedCaller } from '../../src/engine/caller.ts';
import { compileOwnedList, maxOwnerChars, parseOwner } from '../../src/engine/owned-lists.ts';
import { jsonResponse } from '../../src/engine/exchange.ts';
import type { AccessQuestion } from '../../src/engine/access.ts';
import type { ResourceKind } from '../../src/engine/kind.ts';
import type { Change } from '../../src/engine/events/event.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import type { TestClient, TestService } from '../../src/testing/service/service-client.ts';
import { ownedKindsPlugin } from '../http/owned-kinds.ts';
import { forEachBackend } from '../support/backends.ts';

const statusOf = async (client: TestClient, method: string, path: string, body?: unknown): Promise<number> => {
  const { status } = await client.request(method, `/v1${path}`, body === undefined ? {} : { body });
  return status;
};

const idsIn = async (client: TestClient, path: string): Promise<readonly string[]> => {
  const { body } = await client.request('GET', `/v1${path}`);
  return (body as { data: { id: string }[] }).data.map(({ id }) => id).toSorted();
};

async function idOf(service: TestService, name: string): Promise<string> {
  const { body } = await service.asUser(name).request('GET', '/v1/');
  return (body as { user: { id: string } }).user.id;
}

/** What plugins can do with places: the object at a place, as the caller, by its id or by any URI. */
const places = definePlugin({
  name: 'places',
  setup: ({ objects }) => ({
    endpoints: [
      {
        name: 'place',
        path: '/place',
        isResource: false,
        operations: {
          POST: {
            id: 'place',
            consumes: ['application/json'],
            async handle(context) {
              const { uri, id, permission, text } = runAtOnce(context.request.body.read()) as Record<string, string>;
              const place = uri === undefined ? objects.place('task', { task_id: id ?? '' }) : objects.findByUri(uri);
              if (place === undefined) return jsonResponse(200, { place: null });
              const allowed = await objects.isAllowed(context, place, permission ?? 'read');
              const written =
                text === undefined ? undefined : await objects.write(context, place, { attributes: () => ({ text }) });
              const found = written?.object ?? (await objects.find(context, place));
              return jsonResponse(200, { allowed, found: found?.attributes ?? null });
            },
          },
        },
      },
    ],
  }),
});

forEachBackend((backend) => {
  describe(`lists of callers on ${backend.name}`, () => {
    const teams = new Map<string, string>();
    const changes: Change[] = [];
    const ids: Record<string, string> = {};
    let service: TestService;
    const as = (name: string): TestClient => service.asUser(name);

    beforeAll(async () => {
      service = await backend.start({
        plugins: [ownedKindsPlugin(teams, changes), places],
        settings: {
          'user-data_delete_principals': 'system.Authenticated',
          bucket_create_principals: 'system.Authenticated',
        },
      });
      for (const name of ['alice', 'bob', 'carol', 'dave', 'erin']) ids[name] = await idOf(service, name);
      for (const name of ['alice', 'bob', 'carol']) teams.set(ids[name]!, 'red');
      teams.set(ids['dave']!, 'blue');
    });
    afterAll(() => service.close());

    it('keeps entries of two users on one id apart', async () => {
      const open = { permissions: { read: ['system.Everyone'], write: ['system.Authenticated'] } };
      expect(await statusOf(as('alice'), 'PUT', '/tasks/same', { data: { of: 'alice' } })).toBe(201);
      expect(await statusOf(as('bob'), 'PUT', '/tasks/same', open)).toBe(201);
      const { body } = await as('alice').request('GET', '/v1/tasks/same');
      expect(body).toEqual({ data: expect.objectContaining({ of: 'alice' }), permissions: { write: [ids['alice']] } });
      expect(await statusOf(as('carol'), 'GET', '/tasks/same')).toBe(404);
      expect(await statusOf(as('carol'), 'PATCH', '/tasks/same', { data: {} })).toBe(404);
      expect(await statusOf(as('carol'), 'DELETE', '/tasks/same')).toBe(404);
      expect(await statusOf(as('bob'), 'DELETE', '/tasks/same')).toBe(200);
      expect(await statusOf(as('alice'), 'GET', '/tasks/same')).toBe(200);
    });

    it('shows an object that names a user to its owner only, for the user has no address for it', async () => {
      const permissions = { read: [ids['bob'], 'system.Everyone'], write: [ids['bob']] };
      await as('alice').request('PUT', '/v1/tasks/shared', { body: { permissions } });
      expect(await statusOf(as('bob'), 'GET', '/tasks/shared')).toBe(404);
      expect(await statusOf(as('bob'), 'DELETE', '/tasks/shared')).toBe(404);
      expect(await statusOf(service, 'GET', '/tasks/shared')).toBe(401);
      expect(await idsIn(as('bob'), '/tasks')).not.toContain('shared');
    });

    it('does not take an owner out of a path', async () => {
      await as('alice').request('PUT', '/v1/tasks/mine');
      const owner = encodeURIComponent(ids['alice']!);
      for (const path of [`/tasks/${owner}/mine`, `/tasks/${encodeURIComponent(`${owner}/mine`)}`, `/tasks/${owner}`]) {
        expect([path, await statusOf(as('bob'), 'GET', path)]).toEqual([path, expect.toBeOneOf([400, 403, 404])]);
        expect([path, await statusOf(as('bob'), 'DELETE', path)]).toEqual([path, expect.toBeOneOf([400, 403, 404])]);
      }
      expect(await statusOf(as('alice'), 'GET', '/tasks/mine')).toBe(200);
    });

    it('lets permissions decide in the list of a team, by user, by group and by principal of a plugin', async () => {
      await as('alice').request('PUT', '/v1/buckets/people');
      await as('alice').request('PUT', '/v1/buckets/people/groups/g', {
        body: { data: { members: [ids['carol'], ids['dave'], ids['erin']] } },
      });
      const entries = {
        closed: {},
        forBob: { read: [ids['bob']] },
        forGroup: { read: ['/buckets/people/groups/g'] },
        forTeam: { write: ['team:red'] },
        forOthers: { write: ['team:blue'], read: ['system.Authenticated'] },
      };
      for (const [id, permissions] of Object.entries(entries)) {
        expect(await statusOf(as('alice'), 'PUT', `/memos/${id}`, { permissions })).toBe(201);
      }
      expect(await idsIn(as('alice'), '/memos')).toEqual(['closed', 'forBob', 'forGroup', 'forOthers', 'forTeam']);
      expect(await idsIn(as('bob'), '/memos')).toEqual(['forBob', 'forOthers', 'forTeam']);
      expect(await idsIn(as('carol'), '/memos')).toEqual(['forGroup', 'forOthers', 'forTeam']);
      expect(await statusOf(as('bob'), 'GET', '/memos/closed')).toBe(403);
      expect(await statusOf(as('bob'), 'PATCH', '/memos/forBob', { data: {} })).toBe(403);
      expect(await statusOf(as('carol'), 'GET', '/memos/forGroup')).toBe(200);
      expect(await statusOf(as('carol'), 'PATCH', '/memos/forTeam', { data: {} })).toBe(200);
      // Another team has another list, whatever the entries say.
      expect(await idsIn(as('dave'), '/memos')).toEqual([]);
      for (const id of Object.keys(entries)) {
        expect([id, await statusOf(as('dave'), 'GET', `/memos/${id}`)]).toEqual([id, 403]);
        expect([id, await statusOf(as('dave'), 'DELETE', `/memos/${id}`)]).toEqual([id, 403]);
      }
      expect(await statusOf(as('dave'), 'PUT', '/memos/closed')).toBe(201);
      expect(await statusOf(as('bob'), 'GET', '/memos/closed')).toBe(403);
    });

    it('refuses everything to a user without a team', async () => {
      for (const [method, path] of [
        ['GET', '/memos'],
        ['HEAD', '/memos'],
        ['POST', '/memos'],
        ['DELETE', '/memos'],
        ['GET', '/memos/forOthers'],
        ['PUT', '/memos/new'],
        ['PATCH', '/memos/forOthers'],
        ['DELETE', '/memos/forOthers'],
      ] as const) {
        expect([method, path, await statusOf(as('erin'), method, path)]).toEqual([method, path, 403]);
        expect([method, path, await statusOf(service, method, path)]).toEqual([method, path, 401]);
      }
    });

    it('names the owner in changes, so that URIs are unique', async () => {
      changes.length = 0;
      await as('alice').request('PUT', '/v1/tasks/seen');
      await as('bob').request('PUT', '/v1/tasks/seen');
      const [first, second] = changes;
      expect(first?.uri).toBe(`/tasks/${encodeURIComponent(ids['alice']!)}/seen`);
      expect(second?.uri).toBe(`/tasks/${encodeURIComponent(ids['bob']!)}/seen`);
      expect(first?.ids).toEqual({ task_id: 'seen', task_owner: encodeURIComponent(ids['alice']!) });
    });

    it('lets plugins reach the list of their caller by an id, and others by a URI and its entries alone', async () => {
      const alices = `/tasks/${encodeURIComponent(ids['alice']!)}/placed`;
      const permissions = { read: [ids['bob']] };
      await as('alice').request('PUT', '/v1/tasks/placed', { body: { data: { of: 'alice' }, permissions } });
      const ask = async (client: TestClient, body: object): Promise<unknown> =>
        (await client.request('POST', '/v1/place', { body })).body;
      expect(await ask(as('alice'), { id: 'placed', permission: 'write' })).toEqual({
        allowed: true,
        found: { of: 'alice' },
      });
      expect(await ask(as('bob'), { id: 'placed' })).toEqual({ allowed: true, found: null });
      expect(await ask(as('bob'), { uri: alices })).toEqual({ allowed: true, found: { of: 'alice' } });
      expect(await ask(as('bob'), { uri: alices, permission: 'write' })).toMatchObject({ allowed: false });
      expect(await ask(as('carol'), { uri: alices })).toMatchObject({ allowed: false });
      expect(await ask(service, { uri: alices })).toMatchObject({ allowed: false });
      expect(await ask(service, { id: 'placed' })).toEqual({ allowed: false, found: null });
      // A write by the service needs the list of a user.
      expect(await statusOf(service, 'POST', '/place', { id: 'placed', text: 'x' })).toBe(500);
      expect(await ask(as('bob'), { id: 'placed', text: 'x' })).toMatchObject({ found: { text: 'x' } });
      expect(await ask(as('alice'), { id: 'placed' })).toMatchObject({ found: { of: 'alice' } });
    });

    it('removes the lists of a user with the user, and nothing of others', async () => {
      await as('erin').request('PUT', '/v1/tasks/left');
      await as('erin').request('PUT', '/v1/tasks/left/steps/s');
      await as('alice').request('PUT', '/v1/tasks/left', { body: { permissions: { read: [ids['erin']] } } });
      expect(await statusOf(as('alice'), 'DELETE', `/__user_data__/${encodeURIComponent(ids['erin']!)}`)).toBe(200);
      expect(await idsIn(as('erin'), '/tasks')).toEqual([]);
      const { body } = await as('alice').request('GET', '/v1/tasks/left');
      expect(body).toMatchObject({ permissions: { write: [ids['alice']] } });
      await as('erin').request('PUT', '/v1/tasks/left');
      expect(await idsIn(as('erin'), '/tasks/left/steps')).toEqual([]);
    });
  });

  describe(`an authorization policy about lists of callers on ${backend.name}`, () => {
    const questions: AccessQuestion[] = [];
    let service: TestService;
    beforeAll(async () => {
      const authorization = {
        decide(question: AccessQuestion) {
          questions.push(question);
          return question.kind !== 'memo' && (question.ids['task_id'] !== 'barred' || question.permission === 'create');
        },
      };
      service = await backend.start({ plugins: [ownedKindsPlugin(new Map())], authorization });
    });
    afterAll(() => service.close());

    it('learns the owner, has the last word, and opens no list to callers who have none', async () => {
      const alice = service.asUser('alice');
      expect(await statusOf(alice, 'PUT', '/tasks/barred')).toBe(201);
      expect(await statusOf(alice, 'GET', '/tasks/barred')).toBe(403);
      expect(questions.at(-1)?.ids['task_owner']).toBe(encodeURIComponent(await idOf(service, 'alice')));
      expect(await statusOf(service, 'PUT', '/tasks/x')).toBe(401);
      expect(await statusOf(service, 'GET', '/tasks')).toBe(401);
      expect(await statusOf(alice, 'PUT', '/memos/x')).toBe(403);
    });
  });
});

describe('the owner of a list', () => {
  const kind = (parentOf: ResourceKind['parentOf']): ResourceKind => ({
    name: 'task',
    path: '/tasks',
    flavour: 'shareable',
    ...(parentOf === undefined ? {} : { parentOf }),
  });
  const ownerOf = (parent: string | undefined): string =>
    compileOwnedList(kind(() => parent))!.ownerOf(authenticatedCaller(storedUserId('u')));

  it('is one segment without wildcards, whatever the plugin returns', () => {
    for (const text of ['a/b', '*', 'a*', '..', '%', '{task_id}', 'ü\0\n', '?', "'", 'a:b', '/', '\\']) {
      const owner = ownerOf(text);
      expect([text, owner]).toEqual([text, expect.stringMatching(/^[\w\-.!~'()%]+$/)]);
      expect(parseOwner(owner)).toBe(owner);
    }
  });

  it('differs for different texts', () => {
    const texts = ['a/b', 'a%2Fb', 'a%252Fb', '*', '%2A', '%2a', 'A', 'a', 'a ', ' a', '.', '..'];
    expect(new Set(texts.map(ownerOf)).size).toBe(texts.length);
  });

  it('is missing for anonymous callers, empty texts, and texts that no backend keeps', () => {
    expect(compileOwnedList(kind(() => 'everybody'))!.ownerOf(anonymous)).toBe('');
    for (const text of [undefined, '', '\ud800', 'a'.repeat(maxOwnerChars + 1), 'ü'.repeat(100)]) {
      expect([text, ownerOf(text)]).toEqual([text, '']);
    }
  });

  it('is not parsed from texts that no owner has', () => {
    for (const text of ['', 'a/b', '*', 'a*b', 'a b', '\0', 'ü', 'a'.repeat(maxOwnerChars + 1)]) {
      expect([text, parseOwner(text)]).toEqual([text, undefined]);
    }
  });

  it('fits shareable kinds without owners by id only', () => {
    expect(() => compileOwnedList({ ...kind(() => 'x'), flavour: 'user' })).toThrow('task has parentOf');
    expect(() => compileOwnedList({ ...kind(() => 'x'), ownerOf: (id) => id })).toThrow('task has parentOf');
  });
});
