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
export function digestImported(path: string, { summary }: CheckedExport, stores: OpenStores): Promise<string> {
  return digestContents(path, stores, { permissions: summary.permissionsDigest, trustsFile: true });
}

async function digestContents(
  path: string,
  { storage: { reader } }: OpenStores,
  { permissions, trustsFile }: { readonly permissions: string; readonly trustsFile: boolean },
): Promise<string> {
  const hash = createHash('sha256').update(permissions);
  for await (const [ours, list] of walkPairs(readListEnds(path), walkLists(reader), compareLists)) {
    if (list === undefined) continue;
    const isKnown = trustsFile && ours?.end.isMoving === false;
    const digest = isKnown ? ours.end.digest : (await digestList(reader, list, () => {})).digest;
    hash.update(JSON.stringify([list.kind, list.parent, list.timestamp, digest]));
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
  const { digest: permissions } = await digestPermissions(stores.permission.reader);
  const found = await digestContents(path, stores, { permissions, trustsFile: false });
  return contents === found ? undefined : 'it was changed since its import';
}
