// The mark of an import in its target. Only a target that has the mark, and was not written to since, may be emptied to repeat
// the import.
import { createHash } from 'node:crypto';
import { getKey } from '../../base/json.ts';
import type { OpenStores } from '../../contracts/open-backends.ts';
import type { StorageBackend, StorageReader } from '../../contracts/storage.ts';
import { compareLists } from '../../core/objects/list-order.ts';
import { formatAttributes } from '../../core/objects/stored.ts';
import { fingerprintList } from '../../maintenance/secret-fingerprints.ts';
import { inUnit } from '../../maintenance/units.ts';
import { walkLists, walkPairs } from '../../maintenance/walk.ts';
import { isEmptyStore } from '../copy/copy.ts';
import { readListEnds, type CheckedExport } from './export-file.ts';
import { nameOf } from './line-order.ts';

const id = 'import';

/** Marks the target as an import of a file, which is under way or has ended. */
export async function markImport(
  storage: StorageBackend,
  { header, sha256 }: CheckedExport,
  { hasEnded }: { readonly hasEnded: boolean },
): Promise<void> {
  const { store } = header.secrets;
  const mark = {
    file: sha256,
    ...(store === undefined ? {} : { store }),
    ...(hasEnded ? { clocks: await digestClocks(storage.reader) } : {}),
  };
  await inUnit(storage.database, (transaction) =>
    storage.writer(transaction).update(fingerprintList, id, formatAttributes(mark)),
  );
}

async function digestClocks(reader: StorageReader): Promise<string> {
  const hash = createHash('sha256');
  for await (const { kind, parent, timestamp } of walkLists(reader))
    hash.update(JSON.stringify([kind, parent, timestamp]));
  return hash.digest('hex');
}

/**
 * Returns why the target must not be emptied to import the file. Returns `undefined` when it is empty, or has nothing but an
 * unfinished import of the same file, or an import of it or of an older file of the same store. Every write moves a clock.
 */
export async function whyNotRepeatable(
  path: string,
  { header, sha256 }: CheckedExport,
  stores: OpenStores,
): Promise<string | undefined> {
  if (await isEmptyStore(stores)) return undefined;
  const { reader } = stores.storage;
  const attributes = (await reader.get(fingerprintList, id))?.attributes;
  if (attributes === undefined) return 'it has no mark of an import, which earlier versions did not leave';
  const [file, store, clocks] = ['file', 'store', 'clocks'].map((name) => getKey(attributes, name));
  if (file !== sha256) {
    if (clocks === undefined) return 'it has an unfinished import of another file';
    if (store === undefined || store !== header.secrets.store) return 'it may be an import from another store';
  }
  if (clocks !== undefined && clocks !== (await digestClocks(reader))) return 'it was written to since its import';
  for await (const [ours, theirs] of walkPairs(readListEnds(path), walkLists(reader), compareLists)) {
    if (theirs === undefined || (ours !== undefined && theirs.timestamp <= ours.end.clock)) continue;
    const what = ours === undefined ? 'a list that the file does not have' : 'a clock ahead of that of the file';
    return `it was written to since its import, or imported from a newer file: it has ${what}, ${nameOf(theirs)}`;
  }
  return undefined;
}
