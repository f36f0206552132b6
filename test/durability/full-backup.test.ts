// Backups that do not fit on the disk: the command reports it, leaves no file that looks like a backup, and the service
// continues, even on the same disk.
import { execFile } from 'node:child_process';
import { access, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ServerProcess, Workspace } from '../support/server-process.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { expectComplete, readStored, WriteLoad } from './write-load.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = join(root, 'bin', 'coffer.js');
/** As the guide says. */
const vacuum = `const { DatabaseSync } = require('@photostructure/sqlite');
  new DatabaseSync(process.argv[1]).prepare('VACUUM INTO ?').run(process.argv[2]);`;

let workspace: Workspace;
let disk: SmallDisk;
let path: string;
let environment: Record<string, string>;
let server: ServerProcess;
let load: WriteLoad;

beforeEach(async () => {
  workspace = await Workspace.create();
  disk = await SmallDisk.create(workspace.folder);
  path = join(disk.folder, 'coffer.sqlite3');
  const urls = { SVC_STORAGE_URL: path, SVC_PERMISSION_URL: path, SVC_CACHE_URL: path };
  environment = { ...workspace.environment('sqlite'), ...urls };
  server = await ServerProcess.start(workspace, environment);
  await WriteLoad.prepare(server.url);
  load = new WriteLoad(server.url, { writers: 4, paddingBytes: 20_000 });
  // Several times what will be left.
  await load.more(400);
  await load.stop();
  await disk.fill(server.pid);
});
afterEach(async () => {
  await server.kill();
  await disk.remove();
  await workspace.remove();
});

/** Runs a program of Node.js that finds the disk full; resolves to what it complains about. */
async function complaintOf(...args: readonly string[]): Promise<string> {
  const [command, ...rest] = disk.whileFull([process.execPath, ...args]);
  const env = { ...process.env, ...environment };
  try {
    await promisify(execFile)(command!, rest, { cwd: root, env });
  } catch (error) {
    return (error as { readonly stderr: string }).stderr;
  }
  throw new Error('there was room');
}

/** The service has all that it acknowledged, and takes more once there is space. */
async function expectUnharmed(): Promise<void> {
  expectComplete(await readStored(server.url), load.acknowledged, load);
  await disk.makeSpace(server.pid);
  const more = new WriteLoad(server.url, { writers: 2, paddingBytes: 20_000 });
  await more.more(20);
  await more.stop();
  expect(more.refused).toBe(0);
  const stored = await readStored(server.url);
  for (const { acknowledged } of [load, more]) expectComplete(stored, acknowledged, load);
}

test('an export says that the disk has no room, and leaves nothing behind', async () => {
  const file = join(disk.folder, 'export.ndjson');
  const complaint = await complaintOf(program, 'export', file);
  expect(complaint).toContain(`${file} could not be written and was removed: E`);
  expect((await readdir(disk.folder)).filter((name) => name.startsWith('export'))).toEqual([]);
  await expectUnharmed();
});

test('a copy of the file by SQLite fails, and can be taken away', async () => {
  const copy = join(disk.folder, 'backup.sqlite3');
  expect(await complaintOf('-e', vacuum, path, copy)).toMatch(/database or disk is full|disk I\/O error/);
  await rm(copy, { force: true });
  await expect(access(copy)).rejects.toThrow('ENOENT');
  await expectUnharmed();
});
