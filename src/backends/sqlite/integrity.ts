// Checks a file for damage, and keeps the damage that statements report. SQLite itself reads a page only when a statement needs it.
import { BackendUnavailable } from '../../contracts/errors.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { damageRemedy, isDamage, translateError, type BackendName } from './errors.ts';
import { sizeWithLog } from './file-access.ts';

/** Maximum number of faults that a complete check reports. */
const maxFaults = 20;

/** Options of `openSound`. */
export interface SoundFile extends ConnectionOptions {
  /** Name of the backend in errors. */
  readonly backend: BackendName;
  /** Maximum size in bytes of a file of which all pages are checked. Of a larger one, header and schema are read. */
  readonly maxCheckedBytes: number;
  /** Advice about damage, for messages. */
  readonly remedy?: string;
}

/**
 * Opens a file, and refuses one that is damaged.
 *
 * @throws BackendUnavailable with the file and a remedy
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

/** Checks all pages and indexes, and returns a line for each fault. Reads the whole file. */
export function findFaults(connection: Connection): readonly string[] {
  const rows = connection.all<[string]>(`PRAGMA integrity_check(${maxFaults})`);
  return rows.map(([line]) => oneLine(line)).filter((line) => line !== 'ok');
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').trim();
}

/**
 * Known damage of the file. SQLite reports damage to the statement that reads a damaged page, and the heartbeat reads others. So
 * the failure is kept until the service is started again on a repaired file.
 */
export class Damage {
  #found: BackendUnavailable | undefined;

  /** The first failure that damage has caused. */
  get found(): BackendUnavailable | undefined {
    return this.#found;
  }

  /** Keeps an error, of the driver or translated, when it reports a damaged file. */
  note(error: unknown): void {
    if (this.#found === undefined && isDamage(error)) {
      this.#found = translateError(error, 'storage') as BackendUnavailable;
    }
  }
}
