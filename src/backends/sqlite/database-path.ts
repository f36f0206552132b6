// Names of the files of SQLite backends, from the setting that names the database.
import { readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf } from '../../base/system-errors.ts';

/** The file, relative to the working folder, when the setting is absent. */
export const defaultSqliteFile = 'data/coffer.sqlite3';

/**
 * Returns the absolute path of `storage_url` and similar settings: a plain path, `sqlite:relative/file` or
 * `sqlite:///absolute/file`. `undefined` for other values, such as the URL of another kind of database.
 */
export function findSqliteFile(url: string | undefined, cwd: string = process.cwd()): string | undefined {
  if (url === undefined || url === '') return resolve(cwd, defaultSqliteFile);
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]+):/.exec(url)?.[1]?.toLowerCase();
  if (url.startsWith(':')) return undefined;
  if (scheme === undefined) return resolve(cwd, url);
  if (scheme !== 'sqlite') return undefined;
  const rest = url.slice('sqlite:'.length);
  if (!rest.startsWith('//')) {
    const relative = decode(rest);
    return relative === undefined || relative === '' ? undefined : resolve(cwd, relative);
  }
  const path = decode(rest.slice(2));
  // A URL has its host between the second and the third slash. A file has no host.
  return path === undefined || !path.startsWith('/') || path === '/' ? undefined : resolve(path);
}

/**
 * Returns the path without symbolic links, also of a file that does not exist yet. SQLite resolves links before it names its
 * log, so every name that is made of a path must be made of this one.
 */
export function withoutLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    // What else is wrong with the path is reported when it is opened.
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) return path;
  }
  const folder = withoutLinks(dirname(path));
  const file = join(folder, basename(path));
  const target = findLinkTarget(file);
  return target === undefined ? file : withoutLinks(resolve(folder, target));
}

/** Returns the target of a link; `undefined` for everything else. */
function findLinkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** Returns the name of a file next to the database: `coffer.sqlite3` and `cache` → `coffer-cache.sqlite3`. */
export function companionPath(databasePath: string, name: string): string {
  const hasExtension = /\.[^./\\]+$/.test(databasePath);
  return hasExtension ? databasePath.replace(/(\.[^./\\]+)$/, `-${name}$1`) : `${databasePath}-${name}`;
}

function decode(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
