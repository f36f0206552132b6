// A log that cannot be written: its disk is full, or its reader does not read. Requests still get responses.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { freePort } from '../support/redis.ts';
import { spawnServer, Workspace } from '../support/server-process.ts';
import { SmallDisk } from '../support/small-disk.ts';

const long = { timeout: 20_000 };

let workspace: Workspace;
beforeEach(async () => {
  workspace = await Workspace.create();
});
afterEach(() => workspace.remove());

class Server {
  readonly child: ChildProcess;
  complaints = '';

  constructor(log: string, port: number) {
    const file = openSync(log, 'a');
    this.child = spawnServer(workspace, workspace.environment('memory'), ['ignore', file, 'pipe'], port);
    closeSync(file);
    this.child.stderr!.on('data', (chunk: Buffer) => (this.complaints += chunk.toString()));
  }

  async stop(): Promise<number | null> {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exited;
    return this.child.exitCode;
  }
}

/** Asks for something of which the log tells at length; answers with the status. */
async function ask(url: string): Promise<number> {
  const response = await fetch(url, { headers: { 'User-Agent': 'x'.repeat(8000) } });
  await response.arrayBuffer();
  return response.status;
}

test('A full disk takes lines of the log and nothing else, and the log says so when there is space again.', async () => {
  const disk = await SmallDisk.create(workspace.folder);
  const log = join(disk.folder, 'log');
  const server = new Server(log, 0);
  const lines = (): string => readFileSync(log, 'utf8');
  const url = await vi.waitFor(() => {
    const found = /http:\/\/127\.0\.0\.1:\d+\/v1/.exec(lines());
    expect(found).not.toBeNull();
    return `${found![0]}/`;
  }, long);
  await disk.fill(server.child.pid!);
  for (let n = 0; n < 2000 && server.complaints === ''; n++) expect(await ask(url)).toBe(200);
  expect(server.complaints).toMatch(
    /^coffer: the log cannot be written \(\w+\); its lines are lost until it can be written again$/m,
  );
  for (let n = 0; n < 20; n++) expect(await ask(url)).toBe(200);
  await disk.makeSpace(server.child.pid!);
  const told = await vi.waitFor(async () => {
    expect(await ask(url)).toBe(200);
    const line = lines()
      .split('\n')
      .find((each) => each.includes('Lines of the log were lost'));
    expect(line).toBeDefined();
    return JSON.parse(line!) as { Severity: number; Fields: { lines: number; reason: string } };
  }, long);
  expect(told).toMatchObject({ Severity: 4, Fields: { lines: expect.any(Number), reason: expect.any(String) } });
  expect(told.Fields.lines).toBeGreaterThan(0);
  expect(server.complaints.trim().split('\n')).toHaveLength(1);
  expect(await server.stop()).toBe(0);
  // One line at most was torn by the end of the space; all others are whole.
  const torn = lines()
    .split('\n')
    .filter((line) => line !== '' && !line.endsWith('}'));
  expect(torn.length).toBeLessThanOrEqual(1);
  await disk.remove();
});

test('A server that can never write its log serves, and ends on a stop signal.', async () => {
  const port = await freePort();
  const server = new Server('/dev/full', port);
  const url = `http://127.0.0.1:${port}/v1/`;
  await vi.waitFor(async () => {
    expect(await ask(url)).toBe(200);
  }, long);
  expect(await ask(url)).toBe(200);
  expect(await server.stop()).toBe(0);
  expect(server.complaints).toMatch(/^coffer: the log cannot be written \(ENOSPC\)/);
});
