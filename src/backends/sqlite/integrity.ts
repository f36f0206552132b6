// Whether a file is whole. SQLite itself looks at a page only when a statement needs it.
import { BackendUnavailable } from '../../contracts/errors.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { damageRemedy, isDamage, translateError, type BackendName } from './errors.ts';
import { sizeWithLog } from './file-access.ts';

/** Faults that a complete check names at most. */
const maxFaults = 20;

/** A file as `openSound` opens it. */
export interface SoundFile extends ConnectionOptions {
  /** What errors call the backend. */
  readonly backend: BackendName;
  /** Largest file in bytes of which all pages are checked; of a larger one the header and the schema are read. */
  readonly maxCheckedBytes: number;
  /** What to do about damage. */
  readonly remedy?: string;
}

/**
 * Opens a file that is not damaged.
 *
 * @throws BackendUnavailable that names the file and what to do
 */
export function openSound({ backend, maxCheckedBytes, remedy = damageRemedy, ...options }: SoundFile): Connection {
  const { path } = options;
  const unsound = (reason: string, fault: string, cause?: unknown): BackendUnavailable =>
    new BackendUnavailable(backend, `SQLite: ${path}: ${reason}; ${remedy}: ${oneLine(fault)}`, {
      cause,
      reason,
      isLasting: true,
    });
  let connection: Connection | undefined;
  try {
    connection = new Connection(options);
    const fault = sizeWithLog(path) > maxCheckedBytes ? 'ok' : findFirstFault(connection);
    if (fault !== 'ok') throw unsound('the database file is damaged', fault);
    return connection;
  } catch (error) {
    connection?.close();
    const translated = translateError(error, backend);
    if (!(translated instanceof BackendUnavailable) || !isDamage(translated)) throw translated;
    const { reason = 'the database file is damaged', cause } = translated;
    throw unsound(reason, cause instanceof Error ? cause.message : reason, cause);
  }
}

function findFirstFault(connection: Connection): string {
  return connection.get<[string]>('PRAGMA quick_check(1)')?.[0] ?? 'ok';
}

/** Checks all pages and indexes; returns a line for each fault. Takes as long as it takes to read the whole file. */
export function findFaults(connection: Connection): readonly string[] {
  const rows = connection.all<[string]>(`PRAGMA integrity_check(${maxFaults})`);
  return rows.map(([line]) => oneLine(line)).filter((line) => line !== 'ok');
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').trim();
}
