// Backups of SQLite made as the guide says, while many write: each is one moment, the writers notice nothing, and a service
// that starts from it has everything that was acknowledged before it was asked for, and goes on.
import { DatabaseSync } from '@photostructure/sqlite';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { inExtent } from '../support/extent.ts';
import { ServerProcess, Workspace } from '../support/server-process.ts';
import { expectComplete, expectPrefix, readStored, records, WriteLoad } from './write-load.ts';

const backups = inExtent(2, 5);

let workspace: Workspace;
beforeEach(async () => {
  workspace = await Workspace.create();
});
afterEach(() => workspace.remove());

test(`${backups} backups made under writers are moments of the history, and can be served`, async () => {
  const file = join(workspace.folder, 'coffer.sqlite3');
  const server = await ServerProcess.start(workspace, workspace.environment('sqlite'));
  await WriteLoad.prepare(server.url);
  const load = new WriteLoad(server.url, { writers: 8, paddingBytes: 2000 });
  for (let n = 0; n < backups; n++) {
    await load.more(100);
    const acknowledged = [...load.acknowledged];
    const copy = join(workspace.folder, `backup-${n}.sqlite3`);
    await back(file, copy);
    // No write waited for the backup.
    await load.more(1);
    const restored = await ServerProcess.start(workspace, environmentOf(copy));
    const stored = await readStored(restored.url);
    expectComplete(stored, acknowledged, load);
    expectPrefix(stored, load);
    const newest = Math.max(...stored.values());
    const { status, body } = await new Client(restored.url, 'writer').request('POST', records, { data: {} });
    expect(status).toBe(201);
    expect(body.data.last_modified).toBeGreaterThan(newest);
    expect(await restored.stop()).toBe(0);
  }
  await load.stop();
  expect(load.refused).toBe(0);
  expect(await server.stop()).toBe(0);
});

function environmentOf(path: string): Record<string, string> {
  const urls = { SVC_STORAGE_URL: path, SVC_PERMISSION_URL: path, SVC_CACHE_URL: path };
  return { ...workspace.environment('sqlite'), ...urls };
}

/** Makes a backup in a thread, because the driver would block the writers of this one. */
async function back(from: string, to: string): Promise<void> {
  const source = `const { workerData } = require('node:worker_threads');
    const { createRequire } = require('node:module');
    const { DatabaseSync } = createRequire(workerData.here)('@photostructure/sqlite');
    const database = new DatabaseSync(workerData.from, { timeout: 5000 });
    database.prepare('VACUUM INTO ?').run(workerData.to);
    database.close();`;
  const worker = new Worker(source, { eval: true, workerData: { from, to, here: import.meta.url } });
  const [code] = await once(worker, 'exit');
  expect(code).toBe(0);
  const database = new DatabaseSync(to);
  expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  database.close();
}
