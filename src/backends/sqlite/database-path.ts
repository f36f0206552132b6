// Names of the files of SQLite backends, from the setting that names the database.
import { resolve } from 'node:path';

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
