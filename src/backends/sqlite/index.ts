// The SQLite backend: its description, settings and openers. The driver is loaded when a database is opened.
import type { BuiltInBackend } from '../../contracts/backend-module.ts';
import { type BackendKind } from '../../settings/backend-description.ts';
import { refuseUrl } from '../../settings/backend-settings.ts';
import { setting } from '../../settings/definition.ts';
import { choice, flag, integer } from '../../settings/readers.ts';
import type { Settings } from '../../settings/settings.ts';
import { companionPath, defaultSqliteFile, findSqliteFile, withoutLinks } from './database-path.ts';

const bytesPerMegabyte = 1_048_576;
const urlForms = 'sqlite:relative/file, sqlite:///absolute/file';

const settings = {
  sqlite_memory_mb: setting(
    integer({ min: 0 }),
    'Approximate size in megabytes of the read cache, which keeps what was read last from SQLite; 0 means none. A change by any process invalidates what it changes.',
    { default: 32 },
  ),
  sqlite_allow_several_processes: setting(
    flag(),
    'Whether several processes may serve one SQLite file at the same time. When false, the second one does not start.',
    { default: false },
  ),
  sqlite_start_check_mb: setting(
    integer({ min: 0 }),
    'Maximum size in megabytes of a SQLite file of which all pages are checked for damage at each start; 0 means none. Of larger files the start checks the header and the schema, and `coffer check` everything.',
    { default: 64 },
  ),
  sqlite_synchronous: setting(
    choice('FULL', 'NORMAL', 'EXTRA', 'OFF'),
    'Value of PRAGMA synchronous. With FULL, an answered write survives a power loss.',
    { default: 'FULL' },
  ),
};

/** Keeps everything in files of one machine. */
export const sqlite: BuiltInBackend = {
  name: 'sqlite',
  title: 'SQLite',
  kinds: ['storage', 'permission', 'cache'],
  url: {
    forms: `a file, ${urlForms}`,
    ownForms: urlForms,
    names: (kind) =>
      `a file, ${defaultSqliteFile} unless set${kind === 'cache' ? '; the cache has a file of its own next to it' : ''}`,
    example: defaultSqliteFile,
    isOwn: (url) => /^sqlite:/i.test(url) && findSqliteFile(url) !== undefined,
  },
  settings,
  reasonForOneProcess:
    'a file has one writer at a time, so several processes would wait for each other and time out under load',

  readPlace(all, kind) {
    const file = readPath(all, kind);
    return {
      key: `sqlite ${file}`,
      text: `sqlite ${file}`,
      file: kind === 'cache' ? companionPath(file, 'cache') : file,
      ...(kind === 'storage' ? { securityStateFile: companionPath(file, 'security') } : {}),
    };
  },

  findRisks: (all) =>
    all.read(settings).sqlite_synchronous === 'OFF'
      ? ['sqlite_synchronous is OFF: a loss of power may destroy the file. Use FULL.']
      : [],

  async openDatabase({ kind, settings: all, clock, isServing }) {
    const { openSqliteDatabase } = await import('./database.ts');
    const { createSqliteStorage } = await import('./storage.ts');
    const { createSqlitePermission } = await import('./permission.ts');
    const { openSqliteSecurityState } = await import('./security-state.ts');
    const { isWritable } = await import('./file-access.ts');
    const own = all.read(settings);
    const path = readPath(all, kind);
    const isReadonly = all.get('readonly');
    const maxCheckedBytes = own.sqlite_start_check_mb * bytesPerMegabyte;
    const database = openSqliteDatabase({
      path,
      clock,
      synchronous: own.sqlite_synchronous,
      cacheBytes: own.sqlite_memory_mb * bytesPerMegabyte,
      maxCheckedBytes,
      isReadonly,
      isExclusive: isServing && !isReadonly && !own.sqlite_allow_several_processes,
    });
    return {
      database,
      storage: () => createSqliteStorage(database),
      permission: () => createSqlitePermission(database),
      // Counters cannot be stored on a read-only disk.
      securityState: (limits) =>
        isReadonly && !isWritable(path)
          ? undefined
          : openSqliteSecurityState({ ...limits, path, clock, maxCheckedBytes }),
    };
  },

  async openCache({ kind, settings: all, clock }) {
    const { openSqliteCache } = await import('./cache.ts');
    return openSqliteCache({
      path: readPath(all, kind),
      clock,
      prefix: all.get('cache_prefix'),
      maxCheckedBytes: all.read(settings).sqlite_start_check_mb * bytesPerMegabyte,
    });
  },
};

/** Returns the file that the setting names, without links: its other files, and those of other backends, are next to it. */
function readPath(all: Settings, kind: BackendKind): string {
  const file = findSqliteFile(all.get(`${kind}_url`));
  return withoutLinks(file ?? refuseUrl(kind, 'a file, sqlite:relative/file, or sqlite:///absolute/file'));
}
