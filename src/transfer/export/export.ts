// Exports the configured backends into a file, and imports such a file into any backends.
import type { Writable } from 'node:stream';
import { compareLists } from '../../core/objects/list-order.ts';
import type { ListSummary } from '../../contracts/storage.ts';
import { systemClock } from '../../base/clock.ts';
import type { Stores } from '../../engine/unit-of-work.ts';
import type { Settings } from '../../settings/settings.ts';
import { readVersion } from '../../settings/version.ts';
import type { OpenStores } from '../../contracts/open-backends.ts';
import { emptyStore, isEmptyStore, type CopyWork } from '../copy/copy.ts';
import { digestList, digestPermissions } from '../copy/digest.ts';
import { CopyRefused, withPlace, type Place } from '../copy/places.ts';
import { endFilling, markFilling } from '../../maintenance/filling.ts';
import { rebuildIndexes } from '../../maintenance/indexes.ts';
import { walkLists, walkPairs } from '../../maintenance/walk.ts';
import { keepFingerprints, readFingerprints } from '../../maintenance/secret-fingerprints.ts';
import {
  checkExport,
  checkLines,
  ExportRefused,
  readLines,
  readListEnds,
  writeFile,
  writeStream,
  type CheckedExport,
  type ExportedList,
} from './export-file.ts';
import { compareGroups } from './group-memberships.ts';
import { digestImported, markImport, whyNotRepeatable } from './import-mark.ts';
import { nameOf } from './line-order.ts';
import { exportFormat, type ExportSummary } from './lines.ts';
import { Restoring } from './restore-export.ts';
import { writeExport, type ExportSink, type WriteOptions } from './write-export.ts';

export type Progress = WriteOptions['onProgress'];

/**
 * Exports everything in the backends of the settings.
 *
 * @param target path of a file, or a stream, which stays open
 * @throws ExportRefused when the file exists already, or the target or the backends cannot be used
 */
export function exportInto(
  target: string | Writable,
  settings: Settings,
  onProgress?: Progress,
): Promise<ExportSummary> {
  return withStores({ name: 'source', settings }, { creates: false }, (stores) =>
    exportStores(stores, target, onProgress),
  );
}

/** Exports from open stores, as `exportInto` does. */
export async function exportStores(
  stores: Stores,
  target: string | Writable,
  onProgress: Progress = () => {},
): Promise<ExportSummary> {
  const secrets = await readFingerprints(stores.storage.reader);
  const header = {
    format: exportFormat,
    software: readVersion(),
    begun: new Date(systemClock.now()).toISOString(),
    secrets,
  };
  const write = (sink: ExportSink): Promise<ExportSummary> => writeExport(stores, sink, { header, onProgress });
  return typeof target === 'string' ? writeFile(target, write) : writeStream(target, write);
}

export interface ImportFileOptions {
  /**
   * Treatment of a target that is not empty: `refuse` it; `resume`, which empties it first if it is an earlier import;
   * `empty` it first; or write nothing and only `verify`.
   */
  readonly mode: 'refuse' | 'resume' | 'empty' | 'verify';
  /** Whether everything is read back and compared with the digests of the file; `verify` always does. */
  readonly verifies?: boolean;
  readonly onProgress?: NonNullable<CopyWork['onProgress']>;
}

export interface ImportFileResult {
  readonly summary: ExportSummary;
  /** The first differences between the target and the file, in words. */
  readonly differences: readonly string[];
}

/**
 * Imports a file into the backends of the settings.
 *
 * @throws ExportRefused when the file is incomplete or cannot be stored, or the target has data that must not be lost; nothing
 *   was written then
 */
export async function importFrom(
  path: string,
  settings: Settings,
  options: ImportFileOptions,
): Promise<ImportFileResult> {
  // The file is checked before tables are created.
  const checked = await checkExport(path);
  return withStores({ name: 'target', settings }, { creates: options.mode !== 'verify' }, (stores) =>
    importStores(path, stores, options, checked),
  );
}

/** The command that completes an interrupted import. */
const command = 'import file';

/**
 * Imports into open stores, as `importFrom` does.
 *
 * @param known the result of `checkExport`, if it is known
 */
export async function importStores(
  path: string,
  stores: OpenStores,
  { mode, verifies = mode === 'verify', onProgress = () => {} }: ImportFileOptions,
  known?: CheckedExport,
): Promise<ImportFileResult> {
  const checked = known ?? (await checkExport(path));
  const { header, summary } = checked;
  if (summary.permissions + summary.memberships > 0 && !stores.hasPermissions) {
    throw new ExportRefused('the file has permissions, but the target has no permission backend');
  }
  // A file that cannot be imported is refused before the target is emptied or changed.
  const readData = mode === 'verify' ? undefined : await checkLines(path);
  if (mode === 'refuse' && !(await isEmptyStore(stores))) {
    const isRepeatable = (await whyNotRepeatable(path, checked, stores)) === undefined;
    const advice = isRepeatable
      ? 'use --resume to repeat its import, or --empty-target to delete'
      : '--empty-target deletes';
    throw new ExportRefused(`the target is not empty; ${advice} all its data first`);
  }
  if (mode === 'resume') {
    const why = await whyNotRepeatable(path, checked, stores);
    if (why !== undefined) {
      throw new ExportRefused(
        `--resume deletes nothing but an earlier import of this store, and the target is none: ${why}; ` +
          '--empty-target deletes all its data first',
      );
    }
    await markImport(stores.storage, checked);
  }
  // What is left of an earlier import may be revoked or deleted in the file.
  if (mode === 'empty' || mode === 'resume') {
    await markFilling(stores.storage, command);
    await emptyStore(stores);
  }
  if (readData !== undefined) {
    let [entries, permissions] = [0, 0];
    const total = summary.objects + summary.tombstones;
    await markFilling(stores.storage, command);
    await markImport(stores.storage, checked);
    const restoring = new Restoring(stores, (more, morePermissions) => {
      if (more > 0) onProgress('objects', (entries += more), total);
      if (morePermissions > 0) onProgress('permissions', (permissions += morePermissions), summary.permissions);
    });
    for await (const lines of readLines(path, readData)) await restoring.add(lines);
    await restoring.finish();
    await rebuildIndexes(stores, (done, all) => onProgress('indexed objects', done, all));
    if (Object.keys(header.secrets).length > 0) {
      await keepFingerprints(stores.storage, header.secrets, { replaces: true });
    }
    await markImport(stores.storage, checked, await digestImported(path, checked, stores));
    await endFilling(stores.storage);
  }
  return { summary, differences: await compare(path, checked, stores, { verifies, onProgress }) };
}

/** Maximum number of differences that are reported. */
const maxDifferences = 10;

/** Compares clocks and counts of all lists, and on request their contents. */
async function compare(
  path: string,
  { header, summary }: CheckedExport,
  stores: OpenStores,
  { verifies, onProgress }: { readonly verifies: boolean } & Required<Pick<ImportFileOptions, 'onProgress'>>,
): Promise<readonly string[]> {
  const { storage, permission, hasPermissions } = stores;
  const differences: string[] = [];
  const total = summary.objects + summary.tombstones + summary.permissions;
  let done = 0;
  const onRead = (more: number): void => onProgress('verifying', (done += more), total);
  for await (const [ours, theirs] of walkPairs(readListEnds(path), walkLists(storage.reader), compareLists)) {
    if (differences.length === maxDifferences) return differences;
    const found = compareStates(ours, theirs);
    if (found !== undefined) differences.push(`${nameOf(ours ?? theirs)}: ${found}`);
    else if (verifies && !ours!.end.isMoving) {
      const { digest } = await digestList(storage.reader, theirs!, onRead);
      if (digest !== ours!.end.digest) differences.push(`${nameOf(ours!)}: the contents differ`);
    }
  }
  if (!verifies || !hasPermissions) return differences;
  const permissions = await digestPermissions(permission.reader, onRead);
  if (permissions.digest !== summary.permissionsDigest) differences.push('the permissions differ');
  const { followGroups, others } = await compareGroups(stores);
  if (!followGroups) differences.push('the memberships differ from the members of the groups');
  // In a file of format 1 the digest includes the memberships in groups.
  const hasDigest = header.format === exportFormat;
  if (hasDigest && others.digest !== summary.membershipsDigest) differences.push('the memberships differ');
  return differences;
}

function compareStates(ours: ExportedList | undefined, theirs: ListSummary | undefined): string | undefined {
  if (ours === undefined) return 'the file has no such list';
  if (theirs === undefined) return 'the target has no such list';
  const { clock, horizon, objects, tombstones, isMoving } = ours.end;
  if (theirs.timestamp !== clock) return `the clock is ${clock} in the file and ${theirs.timestamp} in the target`;
  if (theirs.horizon < horizon) return `deletions up to ${horizon} are forgotten in the file, but not in the target`;
  // The number of entries is unknown when some occur twice.
  if (isMoving || (theirs.live === objects && theirs.dead === tombstones)) return undefined;
  const counts = `${objects} objects and ${tombstones} tombstones`;
  return `the file has ${counts}, the target ${theirs.live} and ${theirs.dead}`;
}

async function withStores<T>(
  place: Place,
  options: { readonly creates: boolean },
  work: (stores: OpenStores) => Promise<T>,
): Promise<T> {
  try {
    return await withPlace(place, options, work);
  } catch (error) {
    if (error instanceof CopyRefused) throw new ExportRefused(error.message, { cause: error });
    throw error;
  }
}
