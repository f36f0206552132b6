// The mark of an import in its target. Only a target that has the mark, and was not written to since, may be emptied to repeat
// the import.
import { createHash } from 'node:crypto';
import { getKey } from '../../base/json.ts';
import type { OpenStores } from '../../contracts/open-backends.ts';
import type { StorageBackend } from '../../contracts/storage.ts';
import { compareLists } from '../../core/objects/list-order.ts';
import { formatAttributes } from '../../core/objects/stored.ts';
import { fingerprintList } from '../../maintenance/secret-fingerprints.ts';
import { inUnit } from '../../maintenance/units.ts';
import { walkLists, walkPairs } from '../../maintenance/walk.ts';
import { isEmptyStore } from '../copy/copy.ts';
import { digestList, digestPermissions } from '../copy/digest.ts';
import { readListEnds, type CheckedExport } from './export-file.ts';
import { nameOf } from './line-order.ts';

const id = 'import';

/** Marks the target as an import of a file that is under way, or that has ended with these contents. */
export async function markImport(
  storage: StorageBackend,
  { header, sha256 }: CheckedExport,
  contents?: string,
): Promise<void> {
  const { store } = header.secrets;
  const mark = {
    file: sha256,
    ...(store === undefined ? {} : { store }),
    ...(contents === undefined ? {} : { contents }),
  };
  await inUnit(storage.database, (transaction) =>
    storage.writer(transaction).update(fingerprintList, id, formatAttributes(mark)),
  );
}

/** Returns the digest of the contents that a complete import has. Only lists without a digest in the file are read back. */
export async function digestImported(path: string, { summary }: CheckedExport, stores: OpenStores): Promise<string> {
  const ends = new Map<string, string>();
  for await (const { kind, parent, end } of readListEnds(path)) {
    if (!end.isMoving) ends.set(JSON.stringify([kind, parent]), end.digest);
  }
  return digestContents(stores, summary.permissionsDigest, ends);
}

/** @param known digests of lists by kind and parent */
async function digestContents(
  { storage: { reader } }: OpenStores,
  permissions: string,
  known?: ReadonlyMap<string, string>,
): Promise<string> {
  const hash = createHash('sha256').update(permissions);
  for await (const list of walkLists(reader)) {
    const name = JSON.stringify([list.kind, list.parent]);
    const digest = known?.get(name) ?? (await digestList(reader, list, () => {})).digest;
    hash.update(JSON.stringify([name, list.timestamp, digest]));
  }
  return hash.digest('hex');
}

/**
 * Returns why the target must not be emptied to import the file. Returns `undefined` when it is empty, or has nothing but an
 * unfinished import of the same file, or an import of it or of an older file of the same store. The contents of the latter are
 * compared: a write with a timestamp of the past moves no clock.
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
  const [file, store, contents] = ['file', 'store', 'contents'].map((name) => getKey(attributes, name));
  if (file !== sha256) {
    if (contents === undefined) return 'it has an unfinished import of another file';
    if (store === undefined || store !== header.secrets.store) return 'it may be an import from another store';
  }
  for await (const [ours, theirs] of walkPairs(readListEnds(path), walkLists(reader), compareLists)) {
    if (theirs === undefined || (ours !== undefined && theirs.timestamp <= ours.end.clock)) continue;
    const what = ours === undefined ? 'a list that the file does not have' : 'a clock ahead of that of the file';
    return `it was changed since its import, or imported from a newer file: it has ${what}, ${nameOf(theirs)}`;
  }
  if (contents === undefined) return undefined;
  const { digest } = await digestPermissions(stores.permission.reader);
  return contents === (await digestContents(stores, digest)) ? undefined : 'it was changed since its import';
}
