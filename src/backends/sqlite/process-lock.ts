// The right of one process to serve a database file. It is a lock of the operating system, which SQLite takes on a file of
// its own next to the database: it ends with the process, however that ends, and holds across containers that share the
// file, where process ids say nothing.
import { randomUUID } from 'node:crypto';
import { realpathSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import process from 'node:process';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { BackendUnavailable } from '../../contracts/errors.ts';
import { isBusy, isDamage, translating } from './errors.ts';
import { createPrivateFile } from './file-access.ts';

/** How long a process that is writing its number is waited for. */
const timeoutMs = 500;

interface Held {
  readonly lock: DatabaseSyncInstance;
  users: number;
}

/** Locks of this process. What is opened twice in one process shares its lock. */
const held = new Map<string, Held>();

/**
 * Takes the right to serve the file, which exists.
 *
 * @returns what gives it back
 * @throws BackendUnavailable that names the process that has it
 */
export function takeProcessLock(path: string): () => void {
  const file = realpathSync(path);
  const known = held.get(file);
  const own = known ?? { lock: translating('storage', () => lockFile(file)), users: 0 };
  held.set(file, own);
  own.users++;
  return () => {
    if (--own.users > 0) return;
    held.delete(file);
    // The driver keeps a connection open until its statements are collected as garbage, and with it an open transaction.
    own.lock.exec('ROLLBACK');
    own.lock.close();
  };
}

function lockFile(file: string): DatabaseSyncInstance {
  try {
    return openLock(file);
  } catch (error) {
    if (!isDamage(error)) throw error;
    // Nothing in it has to last, so it is written without flushes, and a loss of power may leave anything there.
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
    // Writing down who has the lock ends it for a moment, in which another process may come.
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
