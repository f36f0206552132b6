// A server that is killed at any moment may leave files without record behind, never a record without its file.
import { existsSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { run } from '../cli/process.ts';
import { inExtent } from '../support/extent.ts';
import { ServerProcess, Workspace } from '../support/server-process.ts';

const rounds = inExtent(2, 4);
const writers = 4;
const records = '/buckets/blog/collections/posts/records';

let workspace: Workspace;
beforeEach(async () => {
  workspace = await Workspace.create();
});
afterEach(() => workspace.remove());

/** Uploads, replaces, removes and deletes until the server is gone. */
async function write(url: string, writer: number, onAnswer: () => void): Promise<void> {
  const authorization = `Basic ${Buffer.from('alice:secret').toString('base64')}`;
  try {
    for (let turn = 0; ; turn++) {
      const record = `${url}${records}/r${writer}-${turn % 3}`;
      const isDeletion = turn % 5 === 4;
      const body = new FormData();
      body.append('attachment', new Blob([`content ${turn} `.repeat(5000)]), 'file.txt');
      const target = isDeletion && turn % 2 === 0 ? record : `${record}/attachment`;
      const sent = isDeletion ? { method: 'DELETE' } : { method: 'POST', body };
      const response = await fetch(target, { ...sent, headers: { authorization } });
      await response.text();
      if (response.status >= 500) throw new Error(`${target} answered ${response.status}`);
      onAnswer();
    }
  } catch (error) {
    // The server was killed.
    if (!(error instanceof TypeError)) throw error;
  }
}

test(
  `after ${rounds} kills every record has its file, and what is left over is found`,
  { timeout: 60_000 },
  async () => {
    const files = join(workspace.folder, 'files');
    const environment = {
      ...workspace.environment('sqlite'),
      SVC_INCLUDES: 'attachments',
      SVC_ATTACHMENT_BASE_PATH: files,
      SVC_BUCKET_CREATE_PRINCIPALS: 'system.Authenticated',
    };
    for (let round = 0; round < rounds; round++) {
      const server = await ServerProcess.start(workspace, environment);
      const client = new Client(server.url, 'alice');
      if (round === 0)
        for (const uri of ['/buckets/blog', '/buckets/blog/collections/posts']) await client.request('PUT', uri);
      let answers = 0;
      const writing = Array.from({ length: writers }, (_, index) => write(server.url, index, () => answers++));
      // Each time at another moment.
      await expect.poll(() => answers, { interval: 3, timeout: 10_000 }).toBeGreaterThan(10 + round * 7);
      await server.kill();
      await Promise.all(writing);
    }

    const server = await ServerProcess.start(workspace, environment);
    const client = new Client(server.url, 'alice');
    const objects = (await client.readAll(records)) as { attachment?: { location: string; size: number } | null }[];
    const used = objects.flatMap(({ attachment }) => (attachment ? [attachment.location.split('/').at(-1)!] : []));
    expect(used.length).toBeGreaterThan(0);
    for (const name of used) expect([name, existsSync(join(files, name))]).toEqual([name, true]);
    for (const name of readdirSync(files, { recursive: true, encoding: 'utf8' }))
      utimesSync(join(files, name), 1000, 1000);
    const clean = await run(['attachments-clean', '--config', workspace.config], {
      cwd: workspace.folder,
      environment,
    });
    expect([clean.code, clean.err]).toEqual([0, '']);
    expect(
      readdirSync(files)
        .filter((name) => name !== '.incoming')
        .toSorted(),
    ).toEqual(used.toSorted());
    expect(readdirSync(join(files, '.incoming'))).toEqual([]);
    expect(await server.stop()).toBe(0);
  },
);
