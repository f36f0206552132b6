// SQLite on a disk that fails: what a loss of power leaves is everything up to some moment, and all that was acknowledged;
// a flush that fails is never taken for done; a full disk refuses writes until there is space again.
import { DatabaseSync } from '@photostructure/sqlite';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { ServerProcess, Workspace } from '../support/server-process.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { expectComplete, expectPrefix, readStored, records, type Stored, WriteLoad } from './write-load.ts';
import { sized } from '../support/extent.ts';

const cuts = sized('COFFER_POWER_CUTS', 3, 8);
const watchedDisk = new URL('../support/watched-disk.mjs', import.meta.url);
const one = `${records}/one`;

let workspace: Workspace;
let file: string;
let environment: Record<string, string>;
beforeEach(async () => {
  workspace = await Workspace.create();
  file = join(workspace.folder, 'coffer.sqlite3');
  environment = {
    ...workspace.environment('sqlite'),
    NODE_OPTIONS: `--import ${watchedDisk.href}`,
    DISK_FAULT: join(workspace.folder, 'fault'),
    DISK_FLUSHED: join(workspace.folder, 'flushed'),
    DISK_LOG_INDEX: `${file}-shm`,
  };
});
afterEach(() => workspace.remove());

test(
  `after ${cuts} cuts of power the file is whole, has all that was acknowledged, and nothing without what came before`,
  { timeout: 60_000 + cuts * 5000 },
  async () => {
    const server = await ServerProcess.start(workspace, environment);
    await WriteLoad.prepare(server.url);
    // Large enough that the log is moved into the file, and begun anew, several times.
    const load = new WriteLoad(server.url, { writers: 8, paddingBytes: 20_000 });
    const kept: number[] = [];
    for (let cut = 0; cut < cuts; cut++) {
      await load.more(20 + Math.floor(Math.random() * 100));
      const acknowledged = [...load.acknowledged];
      await server.pause();
      const copy = await copyFiles(join(workspace.folder, `cut-${cut}`));
      server.resume();
      const surviving = await cutLog(copy);
      const stored = readFileOf(copy);
      expectComplete(stored, acknowledged, load);
      expectPrefix(stored, load);
      kept.push(surviving);
      if (cut === cuts - 1) await expectServed(copy, stored);
    }
    await load.stop();
    expect(load.refused).toBe(0);
    expect(await server.stop()).toBe(0);
    console.log(
      `${cuts} cuts of power, ${load.acknowledged.length} acknowledged writes, none lost; frames kept: ${kept.join(', ')}`,
    );
  },
);

test('a flush that fails is answered with 503, also when later ones would succeed, and nothing acknowledged is lost', async () => {
  const server = await ServerProcess.start(workspace, environment);
  await WriteLoad.prepare(server.url);
  const load = new WriteLoad(server.url, { writers: 4 });
  await load.more(50);
  await writeFile(environment['DISK_FAULT']!, '');
  await load.until(() => load.refused >= 4);
  const acknowledged = [...load.acknowledged];
  await rm(environment['DISK_FAULT']!);
  const client = new Client(server.url, 'writer');
  const refusal = await client.request('PUT', one, { data: {} });
  expect([refusal.status, refusal.body.errno, refusal.headers.get('retry-after')]).toEqual([
    503,
    201,
    expect.any(String),
  ]);
  expect((await client.request('GET', '/__heartbeat__')).status).toBe(503);
  await load.stop();
  expect(load.acknowledged.length).toBe(acknowledged.length);
  await server.kill();

  const again = await ServerProcess.start(workspace, environment);
  const stored = await readStored(again.url);
  expectComplete(stored, acknowledged, load);
  expect(stored.has('one')).toBe(false);
  expect((await new Client(again.url, 'writer').request('PUT', one, { data: {} })).status).toBe(201);
  expect(await again.stop()).toBe(0);
});

test('a full disk refuses writes and not reads, and writes go on when there is space again', async () => {
  const disk = await SmallDisk.create(workspace.folder);
  const path = join(disk.folder, 'coffer.sqlite3');
  const urls = { SVC_STORAGE_URL: path, SVC_PERMISSION_URL: path, SVC_CACHE_URL: path };
  const server = await ServerProcess.start(workspace, { ...workspace.environment('sqlite'), ...urls });
  try {
    await WriteLoad.prepare(server.url);
    await disk.fill(server.pid);
    const load = new WriteLoad(server.url, { writers: 4, paddingBytes: 20_000 });
    await load.until(() => load.refused >= 20);
    const acknowledged = [...load.acknowledged];
    expect(acknowledged.length).toBeGreaterThan(0);
    const client = new Client(server.url, 'writer');
    expect((await client.request('GET', `${records}/${acknowledged[0]!.id}`)).status).toBe(200);
    expectComplete(await readStored(server.url), acknowledged, load);
    expect(JSON.stringify(server.log)).toMatch(disk.complaint);
    await disk.makeSpace(server.pid);
    await load.more(50);
    await load.stop();
    expectComplete(await readStored(server.url), load.acknowledged, load);
    await server.kill();
    expectComplete(readFileOf(path), load.acknowledged, load);
  } finally {
    await server.kill();
    await disk.remove();
  }
});

/** The files as they are while the server stands still. @returns path of the database */
async function copyFiles(folder: string): Promise<string> {
  await mkdir(folder);
  const copy = join(folder, 'coffer.sqlite3');
  for (const suffix of ['', '-wal']) await copyFile(file + suffix, copy + suffix);
  await copyFile(`${file}-shm`, join(folder, 'index'));
  await copyFile(environment['DISK_FLUSHED']!, join(folder, 'flushed'));
  return copy;
}

/**
 * Takes from the copy of the log what a loss of power may take: any of what came after the last flush, the middle of
 * a write included.
 *
 * @returns how many frames are left
 */
async function cutLog(copy: string): Promise<number> {
  const log = await readFile(`${copy}-wal`);
  const now = readIndex(await readFile(join(copy, '..', 'index')));
  const flushed = readIndex(await readFile(join(copy, '..', 'flushed')));
  // A log that has begun anew holds nothing that was flushed: that is in the file.
  const safe = now.log === flushed.log ? flushed.frames : 0;
  const frameBytes = log.readUInt32BE(8) + 24;
  const left = 32 + Math.floor((safe + Math.random() * (now.frames - safe)) * frameBytes);
  const torn = Buffer.from(log);
  if (Math.random() < 0.5) torn.fill(0x5a, left);
  await writeFile(`${copy}-wal`, Math.random() < 0.5 ? torn : torn.subarray(0, left));
  return Math.floor((left - 32) / frameBytes);
}

/** The header of the log's index: how many frames are valid, and which log it is. */
function readIndex(bytes: Buffer): { readonly frames: number; readonly log: string } {
  if (bytes.length < 48) return { frames: 0, log: '' };
  return { frames: bytes.readUInt32LE(16), log: bytes.toString('hex', 32, 40) };
}

/** What is in a file that no server serves. */
function readFileOf(path: string): Stored {
  const database = new DatabaseSync(path);
  expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  const sql = "SELECT id, last_modified FROM objects JOIN lists USING (list) WHERE kind = 'record'";
  const rows = database.prepare(sql).all() as { id: string; last_modified: number }[];
  database.close();
  return new Map(rows.map(({ id, last_modified: lastModified }) => [id, lastModified]));
}

async function expectServed(copy: string, stored: Stored): Promise<void> {
  const urls = { SVC_STORAGE_URL: copy, SVC_PERMISSION_URL: copy, SVC_CACHE_URL: copy };
  const server = await ServerProcess.start(workspace, { ...workspace.environment('sqlite'), ...urls });
  expect(await readStored(server.url)).toEqual(stored);
  expect((await new Client(server.url, 'writer').request('PUT', one, { data: {} })).status).toBe(201);
  expect(await server.stop()).toBe(0);
}
