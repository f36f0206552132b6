// Random trees of objects with random permissions, and every access path tried by every user: the service and a model in plain set
// logic must agree on who gets in and what is seen. COFFER_FUZZ_RUNS makes it run longer.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getKey, isJsonObject, parseJson, type JsonValue } from '../../src/base/json.ts';
import type { TestResponse } from '../../src/testing/service/service-client.ts';
import {
  deletableIds,
  kindOf,
  mayCreate,
  mayRead,
  mayReadWhole,
  mayWrite,
  parentOf,
  visibleIds,
} from './permission-model.ts';
import type { Entries, Kind, Person, Tree } from './permission-model.ts';
import { backends, startWatched, type WatchedService } from './service.ts';
import { sized } from '../support/extent.ts';

const runs = sized('COFFER_FUZZ_RUNS', 2, 12);
const names = ['ann', 'ben', 'cat'];
const buckets = ['b', 'b_', 'bx'].map((id) => `/buckets/${id}`);
const groups = buckets.flatMap((bucket) => [`${bucket}/groups/g`]);
const collections = buckets.flatMap((bucket) => ['c', 'c_'].map((id) => `${bucket}/collections/${id}`));
const records = collections.flatMap((collection) => ['r', 'r_'].map((id) => `${collection}/records/${id}`));
const uris = [...buckets, ...groups, ...collections, ...records];

const entryNames: Readonly<Record<Kind, readonly string[]>> = {
  bucket: ['read', 'write', 'group:create', 'collection:create'],
  group: ['read', 'write'],
  collection: ['read', 'write', 'record:create'],
  record: ['read', 'write'],
};

const someone = fc.constantFrom(...names, ...names, 'system.Everyone', 'system.Authenticated', ...groups);

interface World {
  /** Objects that exist, parents of others always, with entries whose users go by name. */
  readonly entries: ReadonlyMap<string, Entries>;
  readonly members: ReadonlyMap<string, readonly string[]>;
}

const world: fc.Arbitrary<World> = fc
  .tuple(
    fc.uniqueArray(fc.tuple(fc.constantFrom(...uris), fc.nat(3), fc.array(someone, { minLength: 1, maxLength: 2 })), {
      maxLength: 8,
    }),
    fc.subarray([...groups, ...records]),
    fc.tuple(...groups.map(() => fc.subarray([...names, 'system.Authenticated'], { maxLength: 2 }))),
  )
  .map(([given, leaves, members]) => {
    const existing = [...buckets, ...collections, ...leaves];
    const entries = new Map<string, Record<string, readonly string[]>>(existing.map((uri) => [uri, {}]));
    for (const [uri, pick, principals] of given) {
      const possible = entryNames[kindOf(uri)];
      const own = entries.get(uri);
      if (own !== undefined) own[possible[pick % possible.length]!] = [...new Set(principals)];
    }
    return {
      entries,
      members: new Map(groups.map((uri, index) => [uri, leaves.includes(uri) ? members[index]! : []])),
    };
  });

describe.each(backends)('permissions on $name', (backend) => {
  let watched: WatchedService;
  let doors = 0;
  const ids = new Map<string, string>();
  const send = (
    name: string | undefined,
    method: string,
    path: string,
    headers = {},
    body?: unknown,
  ): Promise<TestResponse> =>
    watched.service.request(method, `/v1${path}`, {
      headers,
      ...(name === undefined ? {} : { auth: name }),
      ...(body === undefined ? {} : { body }),
    });

  beforeAll(async () => {
    watched = await startWatched(backend, { batch_max_requests: '100' });
    for (const name of [...names, 'root']) {
      const { body } = await send(name, 'GET', '/');
      ids.set(name, (body as { user: { id: string } }).user.id);
    }
  });
  afterAll(async () => {
    await watched.service.close();
    expect(watched.errors).toEqual([]);
    console.log(`${backend.name}: ${doors} doors tried`);
  });

  const toId = (principal: string): string => ids.get(principal) ?? principal;

  /** Creates the objects as a user who becomes the writer of all of them, and returns the principals of every user. */
  async function build({ entries, members }: World): Promise<{ tree: Tree; people: readonly Person[] }> {
    const tree = new Map<string, Entries>();
    const requests: object[] = [];
    for (const [uri, given] of entries) {
      const permissions = Object.fromEntries(
        Object.entries(given).map(([name, principals]) => [name, principals.map(toId)]),
      );
      const data = kindOf(uri) === 'group' ? { members: members.get(uri)!.map(toId) } : {};
      requests.push({ method: 'PUT', path: uri, body: { data, permissions } });
      tree.set(uri, { ...permissions, write: [...(permissions['write'] ?? []), ids.get('root')!] });
    }
    const { body } = await send('root', 'POST', '/batch', {}, { requests });
    expect((body as { responses: { status: number }[] }).responses.every(({ status }) => status === 201)).toBe(true);
    const people = [...names, undefined].map((name) => {
      if (name === undefined) return { name, principals: new Set(['system.Everyone']) };
      const held = [...members].filter(([, list]) => list.includes(name) || list.includes('system.Authenticated'));
      return {
        name,
        principals: new Set([ids.get(name)!, 'system.Everyone', 'system.Authenticated', ...held.map(([uri]) => uri)]),
      };
    });
    return { tree, people };
  }

  async function expectDoor(
    person: Person,
    method: string,
    path: string,
    allowed: number | false,
    more: { readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown } = {},
  ): Promise<TestResponse> {
    doors++;
    const response = await send(person.name, method, path, more.headers, more.body);
    const expected = allowed === false ? (person.name === undefined ? 401 : 403) : allowed;
    expect(
      response.status,
      `${method} ${path} by ${person.name ?? 'nobody'} ${JSON.stringify(more)}: ${response.text}`,
    ).toBe(expected);
    return response;
  }

  const never = { headers: { 'If-Match': '"1"' } };

  async function tryObjects(tree: Tree, person: Person): Promise<void> {
    for (const uri of uris) {
      const exists = tree.has(uri);
      const kind = kindOf(uri);
      const parent = parentOf(uri);
      if (exists) {
        const reads = mayRead(tree, person, uri) ? 200 : false;
        await expectDoor(person, 'GET', uri, reads);
        await expectDoor(person, 'HEAD', `${uri}?_fields=id`, reads);
        const writes = mayWrite(tree, person, uri) ? 412 : false;
        for (const method of ['PUT', 'PATCH', 'DELETE']) {
          await expectDoor(person, method, uri, writes, method === 'PATCH' ? { ...never, body: { data: {} } } : never);
        }
        const list = uri.slice(0, uri.lastIndexOf('/'));
        const data = { id: uri.slice(uri.lastIndexOf('/') + 1) };
        await expectDoor(person, 'POST', list, reads === false ? false : 412, { ...never, body: { data } });
      } else {
        const isWhole = parent !== undefined && mayReadWhole(tree, person, parent, kind);
        await expectDoor(person, 'GET', uri, isWhole ? 404 : false);
        await expectDoor(person, 'PUT', uri, mayCreate(tree, person, parent, kind) ? 412 : false, never);
        await expectDoor(person, 'DELETE', uri, isWhole ? 404 : false);
      }
    }
  }

  async function tryLists(tree: Tree, person: Person): Promise<void> {
    const lists: (readonly [string | undefined, Kind, string])[] = [[undefined, 'bucket', '/buckets']];
    for (const bucket of buckets)
      lists.push([bucket, 'group', `${bucket}/groups`], [bucket, 'collection', `${bucket}/collections`]);
    for (const collection of collections) lists.push([collection, 'record', `${collection}/records`]);
    for (const [parent, kind, path] of lists) {
      const visible = visibleIds(tree, person, parent, kind);
      for (const query of ['', '?_sort=id', '?like_id=*', '?_since=0&not_deleted=true', '?_fields=x&has_x=false']) {
        const response = await expectDoor(person, 'GET', path + query, visible === undefined ? false : 200);
        if (visible !== undefined) expect(idsOf(response), `${path}${query} by ${person.name}`).toEqual(visible);
      }
      const head = await expectDoor(person, 'HEAD', path, visible === undefined ? false : 200);
      if (visible !== undefined) {
        expect(head.headers['total-objects']).toBe(String(visible.length));
        expect(await walk(person, `${path}?_limit=1&_sort=-id`)).toEqual(visible);
      }
      const deletable = deletableIds(tree, person, parent, kind);
      await expectDoor(person, 'DELETE', path, deletable === undefined ? false : 412, never);
      const isFilteredOut = await expectDoor(
        person,
        'DELETE',
        `${path}?id=nothing`,
        deletable === undefined ? false : 200,
      );
      if (deletable !== undefined) expect(isFilteredOut.body).toEqual({ data: [] });
      await expectDoor(person, 'POST', path, mayCreate(tree, person, parent, kind) ? 412 : false, never);
    }
  }

  async function walk(person: Person, path: string): Promise<string[]> {
    const found: string[] = [];
    for (let next: string | undefined = path; next !== undefined;) {
      const response = await expectDoor(person, 'GET', next, 200);
      found.push(...idsOf(response));
      next = response.headers['next-page']?.slice(`${watched.service.origin}/v1`.length);
    }
    return found.toSorted();
  }

  async function tryPermissions(tree: Tree, person: Person): Promise<void> {
    const { text } = await expectDoor(person, 'GET', '/permissions', 200);
    const expected = [...tree].filter(([, entries]) =>
      Object.values(entries).some((principals) => principals.some((principal) => person.principals.has(principal))),
    );
    const listed = dataOf(text)
      .map((entry) => getKey(entry, 'uri'))
      .filter((uri) => uri !== '/');
    expect(new Set(listed)).toEqual(new Set(expected.map(([uri]) => uri)));
  }

  async function tryBatch(tree: Tree, person: Person): Promise<void> {
    const existing = [...tree.keys()];
    const { body } = await send(person.name, 'POST', '/batch', {}, { requests: existing.map((path) => ({ path })) });
    const statuses = (body as { responses: { status: number }[] }).responses.map(({ status }) => status === 200);
    expect(statuses).toEqual(existing.map((uri) => mayRead(tree, person, uri)));
    doors += existing.length;
  }

  it(
    'No access path is open to callers that the entries do not name, and all are open to those they name.',
    async () => {
      // Looked at between worlds: one that is cut off in the middle would leave requests in flight.
      const end = performance.now() + Math.max(10_000, runs * 1000);
      await fc.assert(
        fc.asyncProperty(world, async (given) => {
          if (performance.now() > end) return;
          try {
            const { tree, people } = await build(given);
            for (const person of people) {
              await tryObjects(tree, person);
              await tryLists(tree, person);
              await tryPermissions(tree, person);
              await tryBatch(tree, person);
            }
          } finally {
            await send('root', 'DELETE', '/buckets');
          }
        }),
        { numRuns: runs },
      );
    },
    60_000 + runs * 5000,
  );
});

function dataOf(text: string): readonly { readonly [key: string]: JsonValue }[] {
  const answer = parseJson(text);
  const data = isJsonObject(answer) ? getKey(answer, 'data') : undefined;
  return Array.isArray(data) ? data.filter(isJsonObject) : [];
}

function idsOf({ text }: TestResponse): string[] {
  return dataOf(text)
    .map((entry) => getKey(entry, 'id') as string)
    .toSorted();
}
