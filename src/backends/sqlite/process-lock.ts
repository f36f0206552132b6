// The right of one process to serve a database file. It is a lock of the operating system, which SQLite takes on a file
// next to the database. It ends with the process in any case, and works across containers that share the file, where
// process ids do not.
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { hostname } from 'node:os';
import process from 'node:process';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { BackendUnavailable } from '../../contracts/errors.ts';
import { isBusy, isDamage, translating } from './errors.ts';
import { createPrivateFile } from './file-access.ts';

/** Time to wait for another process that is writing its process id. */
const timeoutMs = 500;

interface Held {
  readonly lock: DatabaseSyncInstance;
  users: number;
}

/** Locks of this process. Databases of one file in one process share its lock. */
const held = new Map<string, Held>();

/**
 * Takes the right to serve an existing file.
 *
 * @param file path without links
 * @returns a function that releases it
 * @throws BackendUnavailable with the process that has it
 */
export function takeProcessLock(file: string): () => void {
  const known = held.get(file);
  const own = known ?? { lock: translating('storage', () => lockFile(file)), users: 0 };
  held.set(file, own);
  own.users++;
  return () => {
    if (--own.users > 0) return;
    held.delete(file);
    // The driver frees statements by garbage collection, and until then keeps the connection and its transaction open.
    own.lock.exec('ROLLBACK');
    own.lock.close();
  };
}

function lockFile(file: string): DatabaseSyncInstance {
  try {
    return openLock(file);
  } catch (error) {
    if (!isDamage(error)) throw error;
    // The file is written without flushes, so a power loss may leave anything in it. Its contents need not last.
    rmSync(`${file}-lock`, { force: true });
    return openLock(file);
  }
}

function openLock(file: string): DatabaseSyncInstance {
  const path = `${file}-lock`;
  createPrivateFile(path);
  const lock = new DatabaseSync(path, { timeout: timeoutMs, returnArrays: true });
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF');
    const token = randomUUID();
    // Storing the holder releases the lock for a moment, in which another process may take it.
    for (;;) {
      lock.exec('BEGIN IMMEDIATE');
      lock.exec('CREATE TABLE IF NOT EXISTS holder (token TEXT, pid INTEGER, host TEXT)');
      if ((lock.prepare('SELECT token FROM holder').get() as unknown as [string] | undefined)?.[0] === token)
        return lock;
      lock.exec('DELETE FROM holder');
      lock.prepare('INSERT INTO holder VALUES (?, ?, ?)').run(token, process.pid, hostname());
      lock.exec('COMMIT');
    }
  } catch (error) {
    const refusal = isBusy(error) ? refusalBy(lock, file) : error;
    if (lock.isTransaction) lock.exec('ROLLBACK');
    lock.close();
    throw refusal;
  }
}

function refusalBy(lock: DatabaseSyncInstance, file: string): BackendUnavailable {
  const [pid, host] = (lock.prepare('SELECT pid, host FROM holder').get() ?? []) as unknown as [number?, string?];
  const who = pid === undefined ? 'another process' : `process ${pid} on ${host}`;
  return new BackendUnavailable(
    'storage',
    `SQLite: ${who} serves ${file} already: stop it first, or set sqlite_allow_several_processes = true`,
    { reason: 'another process serves the database file', isLasting: true },
  );
}
