// `coffer attachments-clean`, and other commands that meet attachments.
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { basic, run, start, workingFolder } from './process.ts';

const environment = {
  SVC_INCLUDES: 'default_bucket attachments',
  SVC_ATTACHMENT_BASE_PATH: 'files',
  SVC_ATTACHMENT_RANDOMIZE: 'false',
};
const headers = { authorization: basic('alice') };

async function upload(url: string, path: string, name: string): Promise<number> {
  const body = new FormData();
  body.append('attachment', new Blob(['content']), name);
  const response = await fetch(`${url}${path}/attachment`, { method: 'POST', headers, body });
  await response.text();
  return response.status;
}

/** As if the file had come long ago. */
function age(path: string): void {
  utimesSync(path, 1000, 1000);
}

test('coffer attachments-clean deletes old files without record, and nothing else, while the service runs.', async () => {
  const cwd = workingFolder();
  const files = join(cwd, 'files');
  const service = await start([], { cwd, environment });
  const records = 'buckets/blog/collections/posts/records';
  for (const path of ['buckets/blog', 'buckets/blog/collections/posts']) {
    await fetch(`${service.url}${path}`, { method: 'PUT', headers });
  }
  expect(await upload(service.url, `${records}/r`, 'used.txt')).toBe(201);
  mkdirSync(join(files, 'deeper'), { recursive: true });
  const left = ['left.txt', 'deeper/left.txt', '.incoming/left.part', 'new.txt'];
  for (const name of left) writeFileSync(join(files, name), 'orphan');
  for (const name of ['used.txt', ...left.slice(0, 3)]) age(join(files, name));

  const dry = await run(['attachments-clean', '--dry-run'], { cwd, environment });
  expect([dry.code, dry.err]).toEqual([0, '']);
  expect(dry.out.trim().split('\n').toSorted()).toEqual([
    '.incoming/left.part (6 bytes)',
    'Would delete 3 files, 18 bytes.',
    'deeper/left.txt (6 bytes)',
    'left.txt (6 bytes)',
  ]);
  expect(existsSync(join(files, 'left.txt'))).toBe(true);

  const readonly = { ...environment, SVC_READONLY: 'true' };
  expect((await run(['attachments-clean'], { cwd, environment: readonly })).code).toBe(1);
  const clean = await run(['attachments-clean', '--older-than', '1'], { cwd, environment });
  expect([clean.code, clean.out]).toEqual([0, 'Deleted 3 files, 18 bytes.\n']);
  expect(readdirSync(files).toSorted()).toEqual(['.incoming', 'deeper', 'new.txt', 'used.txt']);

  service.kill('SIGTERM');
  expect(await service.ended).toBe(0);
});

test('coffer delete-collection deletes the files too.', async () => {
  const cwd = workingFolder();
  const service = await start([], { cwd, environment });
  for (const path of ['buckets/blog', 'buckets/blog/collections/posts', 'buckets/blog/collections/other']) {
    await fetch(`${service.url}${path}`, { method: 'PUT', headers });
  }
  await upload(service.url, 'buckets/blog/collections/posts/records/r', 'a.txt');
  await upload(service.url, 'buckets/blog/collections/other/records/r', 'b.txt');
  service.kill('SIGTERM');
  expect(await service.ended).toBe(0);
  const { code } = await run(['delete-collection', '--bucket', 'blog', '--collection', 'posts'], { cwd, environment });
  expect(code).toBe(0);
  expect(readdirSync(join(cwd, 'files')).toSorted()).toEqual(['.incoming', 'b.txt']);
});

test.each(['0', 'soon', '-1'])('coffer attachments-clean --older-than %s is refused.', async (hours) => {
  const args = ['attachments-clean', `--older-than=${hours}`];
  const { code, err } = await run(args, { cwd: workingFolder(), environment });
  expect([code, err]).toEqual([2, expect.stringContaining('1 or more')]);
});

test('coffer attachments-clean requires the location of the files.', async () => {
  const { code, err } = await run(['attachments-clean'], { cwd: workingFolder() });
  expect([code, err]).toEqual([1, expect.stringContaining('attachment.base_path')]);
});
