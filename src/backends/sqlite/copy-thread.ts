// A thread that copies a database file while it is served. `VACUUM INTO` reads one snapshot, so it neither waits for writers
// nor blocks them; in the main thread it would block the event loop for as long as it runs.
import { Worker } from 'node:worker_threads';
import { createPrivateFile } from './file-access.ts';

/** A text, because one path could not name both the compiled and the uncompiled source. */
const threadSource = `
const { createRequire } = require('node:module');
const { workerData } = require('node:worker_threads');
const { DatabaseSync } = createRequire(workerData.from)('@photostructure/sqlite');
const database = new DatabaseSync(workerData.path, { timeout: workerData.patienceMs });
try {
  database.prepare('VACUUM INTO ?').run(workerData.target);
} finally {
  database.close();
}`;

/** Time that the copy waits for locks, which others hold only while they open or close the file. */
const patienceMs = 5000;

/**
 * Copies the database into a new file that only its owner can read.
 *
 * @param signal ends the copy early
 * @throws Error with the reason; the target is then incomplete
 */
export async function copyDatabase(path: string, target: string, signal: AbortSignal): Promise<void> {
  createPrivateFile(target);
  const workerData = { from: import.meta.url, path, target, patienceMs };
  const resourceLimits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 };
  const worker = new Worker(threadSource, { eval: true, workerData, resourceLimits });
  const abort = (): void => void worker.terminate();
  signal.addEventListener('abort', abort);
  try {
    await new Promise<void>((resolve, reject) => {
      worker.on('error', reject).on('exit', (code) => {
        if (code === 0) resolve();
        else reject(new Error('the copy was ended early'));
      });
      if (signal.aborted) abort();
    });
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
