// A thread that moves the write-ahead log into the database file. That reads, writes and flushes all pages of the log,
// which would block the event loop for hundreds of milliseconds on a busy disk.
import { Worker } from 'node:worker_threads';
import type { Synchronous } from './connection.ts';

/**
 * `PASSIVE` moves what it can without blocking other connections. `RESTART` moves everything, so that the log starts anew;
 * it blocks writers meanwhile, and waits for reads that began before.
 */
export type CheckpointMode = 'PASSIVE' | 'RESTART';

export interface Moved {
  /** Whether everything in the log is in the file now. */
  readonly isComplete: boolean;
  /** Number of pages in the log, moved or not. */
  readonly frames: number;
}

/** Time that `RESTART` waits for reads that began before, of other processes or long ones of this process. */
const patienceMs = 20;

/** A text, because one path could not name both the compiled and the uncompiled source. */
const threadSource = `
const { createRequire } = require('node:module');
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = createRequire(workerData.from)('@photostructure/sqlite');
const database = new DatabaseSync(workerData.path, { returnArrays: true, timeout: workerData.patienceMs });
database.exec('PRAGMA synchronous = ' + workerData.synchronous);
parentPort.on('message', (mode) => {
  if (mode === 'close') {
    database.close();
    parentPort.close();
    return;
  }
  const [isBusy, frames, moved] = database.prepare('PRAGMA wal_checkpoint(' + mode + ')').get();
  parentPort.postMessage({ isComplete: isBusy === 0 && frames === moved, frames });
});`;

export class CheckpointThread {
  readonly #path: string;
  readonly #synchronous: Synchronous;
  /** Started when first needed, and restarted after a failure. It keeps the process alive only while it works. */
  #worker: Worker | undefined;

  /** @param path of the database file */
  constructor(path: string, synchronous: Synchronous) {
    this.#path = path;
    this.#synchronous = synchronous;
  }

  /** Moves the log, or a part of it. Callers wait for the end before the next call. */
  async move(mode: CheckpointMode): Promise<Moved> {
    const worker = (this.#worker ??= this.#start());
    return new Promise((resolve) => {
      const settle = (moved: Moved): void => {
        worker.off('message', settle).off('exit', giveUp);
        worker.unref();
        resolve(moved);
      };
      // The log stays valid, and grows until a later attempt succeeds.
      const giveUp = (): void => settle({ isComplete: false, frames: 0 });
      worker.on('message', settle).on('exit', giveUp);
      worker.ref();
      send(worker, mode);
    });
  }

  /** Ends the thread, when no move is under way. */
  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    await new Promise<void>((resolve) => {
      worker.once('exit', () => resolve());
      worker.ref();
      send(worker, 'close');
    });
  }

  #start(): Worker {
    const workerData = { from: import.meta.url, path: this.#path, synchronous: this.#synchronous, patienceMs };
    const resourceLimits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 };
    const worker = new Worker(threadSource, { eval: true, workerData, resourceLimits });
    // The disk may be full or broken. The next write to the database reports it.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }
}

function send(worker: Worker, message: CheckpointMode | 'close'): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have none
  worker.postMessage(message);
}
