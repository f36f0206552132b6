// Whether a file is whole. SQLite itself looks at a page only when a statement needs it.
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { Connection } from './connection.ts';
import { damageRemedy, type BackendName } from './errors.ts';
import { sizeWithLog } from './file-access.ts';

/** Faults that a complete check names at most. */
const maxFaults = 20;

const cacheRemedy = 'stop the service and delete the file with its -wal and -shm: it holds nothing but the cache';

/**
 * Checks all pages of a file that is not larger than the limit; of larger ones opening has read the header and the schema.
 *
 * @throws BackendUnavailable with what to do about it
 */
export function requireSound(connection: Connection, path: string, maxBytes: number, backend: BackendName): void {
  if (sizeWithLog(path) > maxBytes) return;
  const fault = connection.get<[string]>('PRAGMA quick_check(1)')?.[0];
  if (fault === undefined || fault === 'ok') return;
  const remedy = backend === 'cache' ? cacheRemedy : damageRemedy;
  throw new BackendUnavailable(backend, `SQLite: ${path} is damaged; ${remedy}: ${oneLine(fault)}`, {
    reason: 'the database file is damaged',
    isLasting: true,
  });
}

/** Checks all pages and indexes; returns a line for each fault. Takes as long as it takes to read the whole file. */
export function findFaults(connection: Connection): readonly string[] {
  const rows = connection.all<[string]>(`PRAGMA integrity_check(${maxFaults})`);
  return rows.map(([line]) => oneLine(line)).filter((line) => line !== 'ok');
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').trim();
}
