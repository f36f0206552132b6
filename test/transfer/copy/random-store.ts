// Random contents of a store: odd ids, exact numbers, tombstones, clocks ahead of the time, permissions, memberships.
import fc from 'fast-check';
import type { ObjectPermissions } from '../../../src/contracts/permission.ts';
import { formatAttributes, StoredObject, type ListKey, type StoredEntry } from '../../../src/core/objects/stored.ts';
import type { OpenStores } from '../../../src/contracts/open-backends.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { toPrincipal, type Principal } from '../../../src/core/permissions/principals.ts';
import { inUnit } from '../../../src/maintenance/units.ts';
import { attributes } from '../../core/query/arbitraries.ts';

interface RandomList {
  readonly list: ListKey;
  readonly clock: number;
  readonly horizon: number;
  readonly entries: readonly StoredEntry[];
}

export interface RandomStore {
  readonly lists: readonly RandomList[];
  readonly permissions: readonly (readonly [string, ObjectPermissions])[];
  readonly memberships: readonly (readonly [string, readonly string[]])[];
}

const oddWords = [
  '__proto__',
  'constructor',
  'a_b',
  'a%b',
  'é',
  '\u{1F600}',
  '\uFFFD',
  'A',
  'a',
  '0',
  ' ',
  "it's",
  '"',
  'a|b}c{d',
  '}',
  'e\u0301',
  '\u202Eabc',
  '\u2028',
  '*',
];
const words = fc.oneof(fc.constantFrom(...oddWords), fc.stringMatching(/^[a-z0-9_-]{1,12}$/));
/** Words that can be ids: no id has a star. */
const ids = words.filter((word) => word !== '*');
const uris = fc.array(ids, { maxLength: 4 }).map((parts) => parts.map((part) => `/${part}`).join(''));
const kinds = fc.constantFrom('bucket', 'group', 'collection', 'record', 'account');
const longTexts = fc.constantFrom('x'.repeat(3000), `basicauth:${'y'.repeat(700)}`);
const principals = fc.oneof(words, uris, longTexts, fc.constant('system.Authenticated'));
const exactTexts = fc.constantFrom(
  '{"n":1.10}',
  '{"n":123456789012345678901234567890}',
  '{"n":1e-400}',
  '{"n":-0.0}',
  `{"n":1${'0'.repeat(300)}.5}`,
  '{"__proto__":{"a":1},"b":"\u{1F600}"}',
);
const texts = fc.oneof(exactTexts, attributes.map(formatAttributes));
const times = fc.oneof(fc.nat(1_700_000_000_000), fc.nat(50), fc.integer({ min: 2 ** 50, max: 2 ** 52 }));

const entry = fc.tuple(ids, times, fc.option(texts, { nil: undefined }));
const entries: fc.Arbitrary<readonly StoredEntry[]> = fc
  .uniqueArray(entry, { maxLength: 40, size: 'max', selector: ([id]) => id })
  .map((all) => {
    const byTime = new Map(all.map((one) => [one[1], one]));
    return Array.from(byTime.values(), ([id, lastModified, text]) =>
      text === undefined ? { id, lastModified, deleted: true } : new StoredObject(id, lastModified, text),
    );
  });
const list: fc.Arbitrary<RandomList> = fc
  .record({
    kind: kinds,
    parent: uris.map(storedParent),
    clock: times,
    horizon: fc.oneof(fc.constant(0), times),
    entries,
  })
  .map(({ kind, parent, clock, horizon, entries: all }) => ({ list: { kind, parent }, clock, horizon, entries: all }));
const sets = fc.uniqueArray(principals.map(toPrincipal), { minLength: 1, maxLength: 5 });

/** The contents of a store. */
export const randomStores: fc.Arbitrary<RandomStore> = fc.record({
  lists: fc.uniqueArray(list, {
    minLength: 1,
    maxLength: 10,
    size: 'max',
    selector: ({ list: { kind, parent } }) => `${kind} ${parent}`,
  }),
  permissions: fc.uniqueArray(
    fc.tuple(
      uris,
      fc
        .uniqueArray(fc.tuple(words, sets), { minLength: 1, maxLength: 3, selector: ([name]) => name })
        .map((pairs) => Object.fromEntries<readonly Principal[]>(pairs)),
    ),
    { minLength: 1, maxLength: 20, size: 'max', selector: ([uri]) => uri },
  ),
  memberships: fc.uniqueArray(fc.tuple(principals, sets), {
    minLength: 1,
    maxLength: 10,
    size: 'max',
    selector: ([user]) => user,
  }),
});

/** Contents that are the same in every run. */
export function sample(seed: number): RandomStore {
  return fc.sample(randomStores, { seed, numRuns: 1 })[0]!;
}

/** Puts the contents into a store. */
export async function fill({ storage, permission }: OpenStores, store: RandomStore): Promise<void> {
  await inUnit(storage.database, async (transaction) => {
    const objects = storage.writer(transaction);
    for (const { list: key, clock, horizon, entries: all } of store.lists) {
      await objects.restore(key, { clock, horizon, entries: all });
    }
    const writer = permission.writer(transaction);
    for (const [objectId, named] of store.permissions)
      await writer.replaceObjectPermissions(storedUri(objectId), named);
    for (const [user, all] of store.memberships) {
      for (const principal of all) await writer.addUserPrincipal(toPrincipal(user), toPrincipal(principal));
    }
  });
}
