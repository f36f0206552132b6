// A list of more entries than go in one portion, with permissions and members, to be moved elsewhere.
import type { OpenStores } from '../../../src/contracts/open-backends.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { toPrincipal } from '../../../src/core/permissions/principals.ts';
import { inUnit } from '../../../src/maintenance/units.ts';
import { StoredObject, type ListKey, type StoredEntry } from '../../../src/core/objects/stored.ts';

export const list: ListKey = { kind: 'record', parent: storedParent('/buckets/a/collections/b') };

/** Number of its entries that have permissions, and that are members of a team. */
const shared = 1200;

/** Puts entries as they are into the list. */
export function restore({ storage }: OpenStores, clock: number, entries: readonly StoredEntry[]): Promise<void> {
  return inUnit(storage.database, (transaction) => storage.writer(transaction).restore(list, { clock, entries }));
}

/** Fills the list of empty stores with so many objects and tombstones. */
export async function fillLongList(stores: OpenStores, length: number): Promise<void> {
  const entries = Array.from({ length }, (_, n) => {
    return n % 4 === 0
      ? ({ id: `e${n}`, lastModified: n, deleted: true } as const)
      : new StoredObject(`e${n}`, n, `{"n":${n}.10,"big":1${'0'.repeat(30)}${n}}`);
  });
  await restore(stores, 2 ** 52, entries);
  await inUnit(stores.permission.database, async (transaction) => {
    const writer = stores.permission.writer(transaction);
    for (const { id } of entries.slice(0, shared)) {
      await writer.addToAces([
        {
          objectId: storedUri(`${list.parent}/records/${id}`),
          permissions: { write: [toPrincipal('zoe'), toPrincipal(id)] },
        },
      ]);
      await writer.addUserPrincipal(toPrincipal(id), toPrincipal('/teams/t'));
    }
  });
}
