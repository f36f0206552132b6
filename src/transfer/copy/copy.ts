// Copies everything from one pair of storage and permission backends to another: ids, timestamps, tombstones, permissions and
// clocks stay as they are. Data is streamed, so memory does not grow with the store.
import { randomUUID } from 'node:crypto';
import { compareLists } from '../../core/objects/list-order.ts';
import { storedUserId } from '../../core/permissions/principals.ts';
import type { Settings } from '../../settings/settings.ts';
import type { OpenStores } from '../../contracts/open-backends.ts';
import { carryFingerprints, fingerprintList } from '../../maintenance/secret-fingerprints.ts';
import { copyLists } from './copy-lists.ts';
import { copyPermissions } from './copy-permissions.ts';
import { CopyRefused, describePlace, withPlace } from './places.ts';
import { endFilling, markFilling } from '../../maintenance/filling.ts';
import { forgetIndexes, rebuildIndexes } from '../../maintenance/indexes.ts';
import { inUnit } from '../../maintenance/units.ts';
import { verify, type Verification, type VerifyOptions } from './verify.ts';
import { walkLists, walkMemberships, walkPairs, walkPermissions } from '../../maintenance/walk.ts';

export interface CopyWork {
  /**
   * Treatment of a target that is not empty: `refuse` it; `resume`, making it equal to the source; `empty` it first; or
   * write nothing and only `verify`.
   */
  readonly mode: 'refuse' | 'resume' | 'empty' | 'verify';
  /** Called with the phase, the number of entries done and, where it is known, their total. */
  readonly onProgress?: (phase: CopyPhase, done: number, total: number | undefined) => void;
  readonly onList?: VerifyOptions['onList'];
}

export interface CopyOptions extends CopyWork {
  readonly source: Settings;
  readonly target: Settings;
  /** Called with the descriptions of both places. */
  readonly onPlaces?: (source: string, target: string) => void;
}

export type CopyPhase = 'objects' | 'permissions' | 'indexed objects' | 'verifying';

export interface CopyResult extends Verification {
  /** Entries written or removed. */
  readonly written: number;
}

/**
 * Copies a store, and compares both afterwards.
 *
 * @throws CopyRefused when an end cannot be used, or the target has data that must not be lost
 */
export async function copyStores(options: CopyOptions): Promise<CopyResult> {
  const [from, to] = [
    { name: 'source', settings: options.source } as const,
    { name: 'target', settings: options.target } as const,
  ];
  options.onPlaces?.(describePlace(from), describePlace(to));
  if (describePlace(from) === describePlace(to)) throw new CopyRefused('the source and the target are the same place');
  return withPlace(from, { creates: false }, (source) =>
    withPlace(to, { creates: options.mode !== 'verify' }, (target) => copyBetween(source, target, options)),
  );
}

/** The command that completes an interrupted copy. */
const command = 'copy';

/** Copies between open stores, as `copyStores` does. */
export async function copyBetween(source: OpenStores, target: OpenStores, options: CopyWork): Promise<CopyResult> {
  const { mode, onProgress = () => {}, onList } = options;
  if (source.hasPermissions && !target.hasPermissions) {
    throw new CopyRefused('the source has permissions, but the target has no permission backend');
  }
  if (mode === 'empty' || mode === 'resume') await requireOther(source, target);
  if (mode === 'empty') {
    await markFilling(target.storage, command);
    await emptyStore(target);
  }
  const isEmpty = await isEmptyStore(target);
  if (mode === 'refuse' && !isEmpty) {
    throw new CopyRefused(
      'the target is not empty; use --resume to continue an interrupted copy or to update an earlier one, or ' +
        '--empty-target to delete all its data first',
    );
  }
  if (mode === 'resume' && !isEmpty) await requireCopy(source, target);
  const total = await countEntries(source);
  let written = 0;
  if (mode !== 'verify') {
    const count = counter();
    await markFilling(target.storage, command);
    await forgetIndexes(target.storage);
    written = await copyLists(source.storage, target.storage, {
      resumes: !isEmpty,
      onProgress: (entries) => onProgress('objects', count(entries), total),
    });
    const countPermissions = counter();
    await copyPermissions(source.permission, target.permission, {
      resumes: !isEmpty,
      onProgress: (objects) => onProgress('permissions', countPermissions(objects), undefined),
    });
    await carryFingerprints(source.storage.reader, target.storage);
    await rebuildIndexes(target, (done, all) => onProgress('indexed objects', done, all));
    await endFilling(target.storage);
  }
  const count = counter();
  const onVerified = (read: number): void => onProgress('verifying', count(read), undefined);
  return { ...(await verify(source, target, { onList, onProgress: onVerified })), written };
}

function counter(): (more: number) => number {
  let sum = 0;
  return (more) => (sum += more);
}

async function countEntries({ storage }: OpenStores): Promise<number> {
  let sum = 0;
  for await (const { live, dead } of walkLists(storage.reader)) sum += live + dead;
  return sum;
}

/** Whether the stores contain nothing at all. */
export async function isEmptyStore({ storage, permission }: OpenStores): Promise<boolean> {
  const walks = [walkLists(storage.reader), walkPermissions(permission.reader), walkMemberships(permission.reader)];
  for (const walk of walks) if ((await walk.next()).done !== true) return false;
  return true;
}

/** Deletes everything in the stores. The storage, which has the mark of an import, is last. */
export async function emptyStore({ storage, permission }: OpenStores): Promise<void> {
  await inUnit(permission.database, (transaction) => permission.writer(transaction).flush());
  await inUnit(storage.database, (transaction) => storage.writer(transaction).flush());
}

/**
 * Refuses a target that is not an earlier copy. A copy has no list that its source lacks, and no clock ahead of its source's,
 * since deletions remove neither lists nor clocks. Any other target has writes of its own.
 */
async function requireCopy(source: OpenStores, target: OpenStores): Promise<void> {
  const pairs = walkPairs(walkLists(source.storage.reader), walkLists(target.storage.reader), compareLists);
  for await (const [ours, theirs] of pairs) {
    if (theirs === undefined || (ours !== undefined && ours.timestamp >= theirs.timestamp)) continue;
    const what = ours === undefined ? 'a list that the source does not have' : 'a list that is ahead of the source';
    const where = theirs.parent === '' ? 'the root' : theirs.parent;
    throw new CopyRefused(
      `the target is not a copy of the source, or was written to since: it has ${what}, ` +
        `the ${theirs.kind} list of ${where}; --empty-target deletes all its data first`,
    );
  }
}

/** Refuses a target that is the source under another name, also in part. */
async function requireOther(source: OpenStores, target: OpenStores): Promise<void> {
  if ((await sharesPermissions(source, target)) || (await sharesStorage(source, target))) {
    throw new CopyRefused('the source and the target are the same place under two names; nothing was changed');
  }
}

async function sharesPermissions(source: OpenStores, { permission }: OpenStores): Promise<boolean> {
  const probe = storedUserId(`coffer-copy-${randomUUID()}`);
  const write = (work: 'addUserPrincipal' | 'removeUserPrincipal'): Promise<void> =>
    inUnit(permission.database, (transaction) => permission.writer(transaction)[work](probe, probe));
  await write('addUserPrincipal');
  const isShared = (await source.permission.reader.getUserPrincipals(probe)).has(probe);
  await write('removeUserPrincipal');
  return isShared;
}

/** Probes with an object in a list that is not copied: lists cannot be removed. */
async function sharesStorage(source: OpenStores, { storage }: OpenStores): Promise<boolean> {
  const probe = `coffer-copy-${randomUUID()}`;
  await inUnit(storage.database, (transaction) => storage.writer(transaction).create(fingerprintList, probe, '{}'));
  const found = await source.storage.reader.get(fingerprintList, probe);
  await inUnit(storage.database, (transaction) =>
    storage.writer(transaction).delete(fingerprintList, probe, { keepTombstone: false }),
  );
  return found !== undefined;
}
