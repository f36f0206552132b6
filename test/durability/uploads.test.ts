// Uploads while the disk fills up: refused as long as there is no space, with nothing left over of them; whatever was
// acknowledged keeps its file, and no record names a file that is not there.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../cli/process.ts';
import { Client } from '../support/client.ts';
import { ServerProcess, Workspace } from '../support/server-process.ts';
import { SmallDisk } from '../support/small-disk.ts';

const records = '/buckets/blog/collections/posts/records';
const writers = 4;
const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

interface Attachment {
  readonly location: string;
  readonly hash: string;
  readonly size: number;
}

let workspace: Workspace;
let disk: SmallDisk;
let files: string;
beforeEach(async () => {
  workspace = await Workspace.create();
  disk = await SmallDisk.create(workspace.folder);
  files = join(disk.folder, 'files');
});
afterEach(async () => {
  await disk.remove();
  await workspace.remove();
});

function environment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    ...workspace.environment('sqlite'),
    SVC_INCLUDES: 'attachments',
    SVC_ATTACHMENT_BASE_PATH: files,
    SVC_BUCKET_CREATE_PRINCIPALS: 'system.Authenticated',
    ...more,
  };
}

async function prepare({ url }: ServerProcess): Promise<Client> {
  const client = new Client(url, 'alice');
  for (const uri of ['/buckets/blog', '/buckets/blog/collections/posts']) await client.request('PUT', uri);
  return client;
}

interface Refusal {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly errno: unknown;
}

/** Uploads a file of some size to a record; answers with what was refused, or nothing. */
async function upload({ url }: ServerProcess, id: string, content: Buffer): Promise<Refusal | undefined> {
  const body = new FormData();
  body.append('attachment', new Blob([new Uint8Array(content)]), 'file.txt');
  const authorization = `Basic ${Buffer.from('alice:secret').toString('base64')}`;
  const response = await fetch(`${url}${records}/${id}/attachment`, {
    method: 'POST',
    body,
    headers: { authorization },
  });
  const answer: unknown = await response.json();
  if (response.ok) return undefined;
  const { errno } = answer as { errno: unknown };
  return { status: response.status, retryAfter: response.headers.get('retry-after'), errno };
}

/** What a server without space says. */
const refused: Refusal = { status: 503, retryAfter: expect.stringMatching(/^\d+$/), errno: 201 };

function contentOf(id: string, bytes: number): Buffer {
  return Buffer.alloc(bytes, `content of ${id}, `);
}

/** Every record has its file as it was sent, and nothing is on its way; answers with the records, and with their files. */
async function expectWhole(client: Client): Promise<{ readonly ids: readonly string[]; readonly names: string[] }> {
  const objects = (await client.readAll(records)) as { id: string; attachment?: Attachment | null }[];
  const attached = objects.flatMap(({ id, attachment }) => (attachment ? [{ id, attachment }] : []));
  const names = attached.map(({ attachment }) => attachment.location.split('/').at(-1)!);
  for (const [index, { id, attachment }] of attached.entries()) {
    const path = join(files, names[index]!);
    expect([id, existsSync(path)]).toEqual([id, true]);
    const bytes = readFileSync(path);
    expect([id, bytes.length]).toEqual([id, attachment.size]);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(attachment.hash);
  }
  expect(readdirSync(join(files, '.incoming'))).toEqual([]);
  return { ids: attached.map(({ id }) => id).toSorted(), names: names.toSorted() };
}

function storedFiles(): readonly string[] {
  return readdirSync(files)
    .filter((name) => name !== '.incoming')
    .toSorted();
}

test('a file for which there is no space is refused, leaves nothing behind, and comes in when there is', async () => {
  const server = await ServerProcess.start(workspace, environment());
  try {
    const client = await prepare(server);
    const [small, large] = [contentOf('small', 10 * kibibyte), contentOf('large', 5 * mebibyte)];
    expect(await upload(server, 'small', small)).toBeUndefined();
    expect(await upload(server, 'replaced', small)).toBeUndefined();
    await disk.fill(server.pid);
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(await upload(server, 'large', large)).toEqual(refused);
      expect(await upload(server, 'replaced', large)).toEqual(refused);
    }
    expect((await client.request('GET', `${records}/large`)).status).toBe(404);
    const kept = await expectWhole(client);
    expect(kept.ids).toEqual(['replaced', 'small']);
    expect(storedFiles()).toEqual(kept.names);
    // Whose store has space is not touched by it.
    expect((await client.request('PUT', `${records}/plain`, { data: {} })).status).toBe(201);
    expect(JSON.stringify(server.log)).toMatch(/ENOSPC|EFBIG/);
    await disk.makeSpace(server.pid);
    expect(await upload(server, 'large', large)).toBeUndefined();
    expect(await upload(server, 'replaced', large)).toBeUndefined();
    const whole = await expectWhole(client);
    expect(whole.ids).toEqual(['large', 'replaced', 'small']);
    expect(storedFiles()).toEqual(whole.names);
    expect(await server.stop()).toBe(0);
  } finally {
    await server.kill();
  }
});

test('records and files that share a full disk stay together, and uploads go on when there is space again', async () => {
  const path = join(disk.folder, 'coffer.sqlite3');
  const onDisk = { SVC_STORAGE_URL: path, SVC_PERMISSION_URL: path, SVC_CACHE_URL: path };
  const server = await ServerProcess.start(workspace, environment(onDisk));
  try {
    const client = await prepare(server);
    expect(await upload(server, 'first', contentOf('first', kibibyte))).toBeUndefined();
    await disk.fill(server.pid);
    const acknowledged = new Set(['first']);
    const refusals: Refusal[] = [];
    let isOver = false;
    const writing = Array.from({ length: writers }, async (_, writer) => {
      for (let n = 0; !isOver; n++) {
        // Small ones, so that now it is the file that finds no space, now the record.
        const id = `${writer}-${n}`;
        const bytes = n % 3 === 0 ? 3 * mebibyte : 20 * kibibyte + n * 101;
        const refusal = await upload(server, id, contentOf(id, bytes));
        if (refusal === undefined) acknowledged.add(id);
        else refusals.push(refusal);
      }
    });
    const until = (isReached: () => boolean): Promise<void> =>
      expect.poll(isReached, { interval: 10, timeout: 20_000 }).toBe(true);
    await until(() => refusals.length >= 40);
    expect((await client.request('GET', `${records}/first`)).status).toBe(200);
    const before = acknowledged.size;
    await disk.makeSpace(server.pid);
    await until(() => acknowledged.size > before + 20);
    isOver = true;
    await Promise.all(writing);
    for (const refusal of refusals) expect(refusal).toEqual(refused);
    const whole = await expectWhole(client);
    expect(whole.ids).toEqual([...acknowledged].toSorted());
    await server.kill();
    // After a failed commit the file remains, until a command checks whether a record has it.
    for (const name of storedFiles()) utimesSync(join(files, name), 1000, 1000);
    const clean = await run(['attachments-clean', '--config', workspace.config], {
      cwd: workspace.folder,
      environment: environment(onDisk),
    });
    expect([clean.code, clean.err]).toEqual([0, '']);
    expect(storedFiles()).toEqual(whole.names);
    const again = await ServerProcess.start(workspace, environment(onDisk));
    try {
      expect(await expectWhole(new Client(again.url, 'alice'))).toEqual(whole);
    } finally {
      await again.kill();
    }
  } finally {
    await server.kill();
  }
});
