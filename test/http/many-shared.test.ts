// Lists for callers who may see very many of their objects one by one: the same answers as ever, on every backend.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectPermissions } from '../../src/contracts/permission.ts';
import { storedParent, storedUri } from '../../src/core/objects/uris.ts';
import { toPrincipal, type Principal } from '../../src/core/permissions/principals.ts';
import type { Stores } from '../../src/engine/unit-of-work.ts';
import { StoredObject } from '../../src/core/objects/stored.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import type { TestService } from '../../src/testing/index.ts';
import { inUnit } from '../../src/testing/contract/unit-of-work.ts';
import { allBackends } from '../support/backends.ts';

const list = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
const records = '/v1/buckets/b/collections/c/records';
const count = 3000;
const idOf = (n: number): string => `r${String((n * 7919) % count).padStart(5, '0')}`;
const entries = Array.from({ length: count }, (_, n) => new StoredObject(idOf(n), 1000 + n, `{"n":${n}}`));

/** Half of the records, too many to be looked up one by one; some of them by way of a group, or twice. */
const [other, group] = [toPrincipal('somebody:else'), toPrincipal('/buckets/b/groups/g')];

function principalsOn(n: number, bob: Principal): ObjectPermissions | undefined {
  if (n % 2 === 1) return n % 5 === 0 ? { other: [bob], read: [other] } : undefined;
  if (n % 4 === 0) return { read: [bob], write: [group, other] };
  return n % 3 === 0 ? { write: [group] } : { read: [other, bob] };
}

describe.each(allBackends)('a list with very many shared objects, on $name', ({ start }) => {
  let service: TestService;

  beforeAll(async () => {
    let stores: Stores | undefined;
    const plugin = definePlugin({
      name: 'stores',
      setup(host) {
        stores = host.stores;
        return {};
      },
    });
    service = await start({ plugins: [plugin] });
    const { body } = await service.request('GET', '/v1/', { auth: 'bob' });
    const bob = toPrincipal((body as { user: { id: string } }).user.id);
    await service.request('PUT', '/v1/buckets/b', { auth: 'alice' });
    await service.request('PUT', '/v1/buckets/b/groups/g', { auth: 'alice', body: { data: { members: [bob] } } });
    await service.request('PUT', '/v1/buckets/b/collections/c', { auth: 'alice' });
    const { storage, permission } = stores!;
    await inUnit(storage.database, (transaction) =>
      storage.writer(transaction).restore(list, { clock: 9000, entries }),
    );
    await inUnit(permission.database, (transaction) =>
      permission.writer(transaction).addToAces(
        entries.flatMap(({ id }, n) => {
          const permissions = principalsOn(n, bob);
          return permissions === undefined
            ? []
            : [{ objectId: storedUri(`${list.parent}/records/${id}`), permissions }];
        }),
      ),
    );
  }, 60_000);
  afterAll(() => service.close());

  async function walkPages(query: string): Promise<readonly string[]> {
    const found: string[] = [];
    let path: string | undefined = `${records}?${query}`;
    while (path !== undefined) {
      const { status, body, headers } = await service.request('GET', path, { auth: 'bob' });
      expect(status).toBe(200);
      found.push(...(body as { data: { id: string }[] }).data.map(({ id }) => id));
      const next = headers['next-page'];
      path = next?.slice(next.indexOf('/v1/'));
    }
    return found;
  }

  const shared = entries.filter((_, n) => n % 2 === 0).map(({ id }) => id);

  it.each([
    ['_sort=last_modified&_limit=400', shared],
    ['_limit=700', shared.toReversed()],
    ['_sort=id&_limit=499', shared.toSorted()],
    ['_sort=-id', shared.toSorted().toReversed()],
    ['_sort=-n&_limit=900', shared.toReversed()],
    ['_since=3000', shared.slice(1001).toReversed()],
    [
      '_since=3990&_limit=3',
      entries
        .slice(2991)
        .filter(({ id }) => shared.includes(id))
        .map(({ id }) => id)
        .toReversed(),
    ],
    ['_before=1011&_limit=2', [10, 8, 6, 4, 2, 0].map(idOf)],
    ['min_n=2990', [2998, 2996, 2994, 2992, 2990].map(idOf)],
    [`gt_id=r02989&_sort=id&_limit=2`, shared.filter((id) => id > 'r02989').toSorted()],
  ])('is walked whole with %s', async (query, expected) => {
    expect(await walkPages(query)).toEqual(expected);
  });

  it('counts shared objects, and returns an empty page when nothing is new', async () => {
    const { headers } = await service.request('HEAD', records, { auth: 'bob' });
    expect(headers['total-objects']).toBe(String(shared.length));
    const page = await service.request('GET', `${records}?_limit=1`, { auth: 'bob' });
    expect(page.headers['etag']).toBe(headers['etag']);
    const since = encodeURIComponent(page.headers['etag'] ?? '');
    const poll = await service.request('GET', `${records}?_since=${since}`, { auth: 'bob' });
    expect([poll.status, poll.body, poll.headers['etag']]).toEqual([200, { data: [] }, headers['etag']]);
  });

  it('stays closed to other callers, and hides unshared and deleted objects', async () => {
    expect((await service.request('GET', `${records}?_limit=5`, { auth: 'carol' })).status).toBe(403);
    const [gone, hidden] = [idOf(2998), idOf(2996)];
    await service.request('DELETE', `${records}/${gone}`, { auth: 'alice' });
    const unshared = { permissions: { read: [], write: [] } };
    await service.request('PATCH', `${records}/${hidden}`, { auth: 'alice', body: unshared });
    const { body } = await service.request('GET', `${records}?_since=0&_limit=2`, { auth: 'bob' });
    expect((body as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual([idOf(2994), idOf(2992)]);
  });
});
