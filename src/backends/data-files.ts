// Permissions of the files that the service keeps. New files are for their owner alone. Existing ones, made by an older version
// or restored from a backup, may be open to every user of the machine.
import { chmodSync, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import process from 'node:process';
import { dataFolder } from '../settings/profile.ts';
import type { Settings } from '../settings/settings.ts';
import { backendKinds } from '../settings/backend-description.ts';
import { findBackend } from '../settings/backend-settings.ts';
import { builtInBackends } from './built-in-backends.ts';

const ofOthers = 0o007;
const ofGroupAndOthers = 0o077;
const setGid = 0o2000;

/** A file or folder that more users may read than should. */
interface Exposed {
  readonly path: string;
  readonly mode: number;
  /** Mode without the excess; `undefined`: it may be open on purpose, so its owner has to decide. */
  readonly tightened: number | undefined;
}

/** Closes the files of the service to other users, and returns a sentence for each that stays open. */
export function protectDataFiles(settings: Settings): readonly string[] {
  const left = findExposed(settings).filter((exposed) => !tighten(exposed));
  return left.map(
    ({ path, mode }) => `${path} is open to other users of this machine (mode ${octal(mode)}): chmod it.`,
  );
}

/** Returns a sentence for each file or folder of the service that is open to other users; changes nothing. */
export function describeExposedFiles(settings: Settings): readonly string[] {
  return findExposed(settings).map(({ path, mode, tightened }) => {
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
    // The file belongs to another user, or the disk cannot be written.
    return false;
  }
}

function findExposed(settings: Settings): readonly Exposed[] {
  // Windows has no such modes.
  if (process.platform === 'win32') return [];
  const files = databaseFiles(settings);
  const folders = new Set(files.map(dirname));
  const attachments = settings.get('includes').includes('attachments')
    ? (settings.lookup('attachment.base_path') ?? '')
    : '';
  if (attachments !== '') folders.add(resolve(attachments));
  return [...[...folders].flatMap(findExposedFolder), ...files.flatMap(findExposedDatabase)];
}

/** The data folder of a start without configuration is the service's own; other folders may have further uses. */
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

/** A folder with the setgid bit is shared with its group on purpose. */
function tooMuchIn(folder: string): number {
  return ((modeOf(folder) ?? 0) & setGid) === 0 ? ofGroupAndOthers : ofOthers;
}

function databaseFiles(settings: Settings): readonly string[] {
  const files = backendKinds.flatMap((kind) => {
    const place = findBackend(settings, builtInBackends, kind)?.readPlace(settings, kind);
    return [place?.file, place?.securityStateFile].filter((file) => file !== undefined);
  });
  return [...new Set(files)].filter((file) => existsSync(file));
}

/** Returns the mode of a file; `undefined` when it does not exist or cannot be read, which opening it will report. */
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
