// The secret of a service that starts without configuration, when several start at once.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { workingFolder } from './process.ts';

const program = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData.url).then(({ readOrCreateSecret }) => {
    parentPort.postMessage('ready');
    Atomics.wait(new Int32Array(workerData.gate), 0, 0);
    parentPort.postMessage(readOrCreateSecret(workerData.folder));
  });`;

test('Concurrent starts get one secret, and leave no other files.', async () => {
  const folder = join(workingFolder(), 'data');
  const gate = new SharedArrayBuffer(4);
  const url = new URL('../../dist/settings/profile.js', import.meta.url).href;
  const workers = Array.from(
    { length: 4 },
    () => new Worker(program, { eval: true, workerData: { url, gate, folder } }),
  );
  await Promise.all(workers.map(nextMessage));
  const secrets = workers.map(nextMessage);
  Atomics.store(new Int32Array(gate), 0, 1);
  Atomics.notify(new Int32Array(gate), 0);
  expect(new Set(await Promise.all(secrets)).size).toBe(1);
  expect(readdirSync(folder)).toEqual(['secret']);
});

function nextMessage(worker: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}
