// Who may read the files that the service keeps. New ones are made for their owner alone; those that are there already, made
// by an older version or put back from a backup, may be open to everybody on the machine.
import { chmodSync, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import process from 'node:process';
import { dataFolder } from '../settings/profile.ts';
import { findSqliteFile } from '../settings/sqlite-file.ts';
import type { Settings } from '../settings/settings.ts';

const ofOthers = 0o007;
const ofGroupAndOthers = 0o077;
const setGid = 0o2000;

/** Something that more users may read than should. */
interface Exposed {
  readonly path: string;
  readonly mode: number;
  /** Mode that takes away what is too much; `undefined`: it may be open on purpose, so its owner has to decide. */
  readonly tightened: number | undefined;
}

/** Takes away what others may do with the files of the service; returns a sentence for each that stays open. */
export async function protectDataFiles(settings: Settings): Promise<readonly string[]> {
  const left = (await findExposed(settings)).filter((exposed) => !tighten(exposed));
  return left.map(
    ({ path, mode }) => `${path} is open to other users of this machine (mode ${octal(mode)}): chmod it.`,
  );
}

/** Returns a sentence for each file or folder of the service that is open to other users; changes nothing. */
export async function describeExposedFiles(settings: Settings): Promise<readonly string[]> {
  return (await findExposed(settings)).map(({ path, mode, tightened }) => {
    const remedy = tightened === undefined ? 'chmod it.' : `the start will set ${octal(tightened)}.`;
    return `${path} is open to other users of this machine (mode ${octal(mode)}): ${remedy}`;
  });
}

function tighten({ path, tightened }: Exposed): boolean {
  if (tightened === undefined) return false;
  try {
    chmodSync(path, tightened);
    return true;
  } catch {
    // It belongs to somebody else, or lies on a disk that cannot be written.
    return false;
  }
}

async function findExposed(settings: Settings): Promise<readonly Exposed[]> {
  // Windows has no such modes.
  if (process.platform === 'win32') return [];
  const files = await databaseFiles(settings);
  const folders = new Set(files.map(dirname));
  const attachments = settings.get('includes').includes('attachments')
    ? (settings.lookup('attachment.base_path') ?? '')
    : '';
  if (attachments !== '') folders.add(resolve(attachments));
  return [...[...folders].flatMap(findExposedFolder), ...files.flatMap(findExposedDatabase)];
}

/** The data folder of a start without configuration is ours; others may hold more than what we keep there. */
function findExposedFolder(path: string): readonly Exposed[] {
  const mode = modeOf(path);
  if (mode === undefined || (mode & ofOthers) === 0) return [];
  return [{ path, mode, tightened: path === resolve(dataFolder) ? mode & ~tooMuchIn(path) : undefined }];
}

function findExposedDatabase(file: string): readonly Exposed[] {
  const tooMuch = tooMuchIn(dirname(file));
  return ['', '-wal', '-shm', '-journal', '-lock'].flatMap((suffix) => {
    const path = file + suffix;
    const mode = modeOf(path);
    return mode === undefined || (mode & tooMuch) === 0 ? [] : [{ path, mode, tightened: mode & ~tooMuch }];
  });
}

/** A folder with the setgid bit is shared with its group on purpose: that is what the bit is for. */
function tooMuchIn(folder: string): number {
  return ((modeOf(folder) ?? 0) & setGid) === 0 ? ofGroupAndOthers : ofOthers;
}

async function databaseFiles(settings: Settings): Promise<readonly string[]> {
  const files = new Set<string>();
  for (const kind of ['storage', 'permission', 'cache'] as const) {
    const file = settings.get(`${kind}_backend`) === 'sqlite' ? findSqliteFile(settings.get(`${kind}_url`)) : undefined;
    if (file === undefined) continue;
    const { companionPath } = await import('../backends/sqlite/companion-file.ts');
    files.add(kind === 'cache' ? companionPath(file, 'cache') : file);
    if (kind === 'storage') files.add(companionPath(file, 'security'));
  }
  return [...files].filter((file) => existsSync(file));
}

/** `undefined`: it is not there, or cannot be looked at, and opening it will say so. */
function modeOf(path: string): number | undefined {
  try {
    return statSync(path).mode & 0o7777;
  } catch {
    return undefined;
  }
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}
