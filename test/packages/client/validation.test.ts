// Validators with the interface of Standard Schema, and files and other parts that need a setting of the service.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { basic, Coffer, CofferError, type Validator } from '../../../packages/client/src/index.ts';
import { startTestService, type TestService } from '../../../src/testing/index.ts';
import { projectRoot } from '../../architecture/source-tree.ts';

interface Input {
  readonly title: string;
  readonly due: string | Date;
}

interface Output {
  readonly title: string;
  readonly due: Date;
}

/** Accepts a title and a date, adds nothing, and removes what it does not know. */
const dated: Validator<Input, Output> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: async (value) => {
      const { title, due } = value as Partial<Input>;
      const issues = [];
      if (typeof title !== 'string') issues.push({ message: 'title is no text' });
      if (due === undefined || Number.isNaN(Date.parse(String(due)))) issues.push({ message: 'due is no date' });
      return issues.length > 0 ? { issues } : { value: { title: title!, due: new Date(due!) } };
    },
  },
};

describe('A collection with a validator', () => {
  let service: TestService;
  let coffer: Coffer;

  beforeAll(async () => {
    service = await startTestService({ settings: { includes: 'default_bucket' } });
    coffer = new Coffer(service.origin, { auth: basic('ann', 'secret') });
  });
  afterAll(() => service.close());

  it('sends and returns what the validator makes of values', async () => {
    const todos = coffer.bucket('default').collection('dated', { schema: dated });
    const made = await todos.create({ id: 'one', title: 'x', due: '2026-11-23' });
    expect(made).toEqual({ id: 'one', last_modified: made.last_modified, title: 'x', due: new Date('2026-11-23') });
    const [page] = [await todos.list().page()];
    expect(page.data).toEqual([made]);
    expect(await todos.put('one', { ...made, title: 'y' })).toMatchObject({ title: 'y', due: made.due });
    expect((await todos.get('one', { fields: ['due'] })).due).toBe('2026-11-23T00:00:00.000Z');
  });

  it('refuses values before they are sent, and objects that do not fit', async () => {
    const todos = coffer.bucket('default').collection('mixed', { schema: dated });
    const plain = coffer.bucket('default').collection('mixed');
    const error = await todos.create({ title: 5, due: 'x' } as never).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CofferError);
    expect(error).toMatchObject({
      kind: 'validation',
      status: 0,
      message: 'title is no text; due is no date',
      issues: [{ message: 'title is no text' }, { message: 'due is no date' }],
    });
    expect(await plain.list().count()).toBe(0);
    await plain.create({ id: 'odd', title: 'x' });
    await expect(todos.get('odd')).rejects.toMatchObject({ kind: 'validation', details: { title: 'x' } });
    await expect(todos.list().all()).rejects.toMatchObject({ kind: 'validation' });
    const written = coffer.bucket('default').collection('mixed', { schema: dated, validate: 'write' });
    expect(await written.get('odd')).toMatchObject({ title: 'x' });
    await expect(written.put('odd', { title: 'x' } as never)).rejects.toMatchObject({ kind: 'validation' });
    const read = coffer.bucket('default').collection('mixed', { schema: dated, validate: 'read' });
    await expect(read.create({ title: 'x' } as never)).rejects.toMatchObject({ kind: 'validation' });
    expect(await plain.list().count()).toBe(2);
    expect(await todos.delete('odd')).toMatchObject({ deleted: true });
  });

  it('sends no batch of which a value was refused', async () => {
    const calls = coffer.batch((root) => [
      root.bucket('default').collection('batch').create({ id: 'fine' }),
      root
        .bucket('default')
        .collection('batch', { schema: dated })
        .create({ title: 'x' } as never),
    ]);
    await expect(calls).rejects.toMatchObject({ kind: 'validation' });
    expect(await coffer.bucket('default').collection('batch').list().count()).toBe(0);
  });
});

describe('The client in Node.js', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coffer-client-'));
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({
      settings: { includes: 'default_bucket attachments', 'attachment.base_path': path.join(folder, 'files') },
    });
  });
  afterAll(async () => {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('stores, replaces, reads and removes the file of a record', async () => {
    const coffer = new Coffer(service.origin, { auth: basic('ann', 'secret') });
    const posts = coffer
      .bucket('default')
      .collection<{ title: string; attachment?: { location: string } | null }>('posts');
    const file = posts.attachment('summer');
    const first = await file.put(new Blob(['first'], { type: 'text/plain' }), {
      filename: 'a.txt',
      data: { title: 'Summer' },
    });
    expect(first).toMatchObject({ filename: 'a.txt', size: 5, mimetype: 'text/plain' });
    const record = await posts.get('summer');
    expect(await (await file.read(record.attachment!)).text()).toBe('first');
    await expect(file.put(new Blob(['x']), { ifMatch: 5, filename: 'a.txt' })).rejects.toMatchObject({ status: 412 });
    await file.put(new Blob(['second']), { ifMatch: record.last_modified, filename: 'b.txt' });
    const { url, expires } = await file.url();
    expect([await (await fetch(url)).text(), typeof expires]).toEqual(['second', 'number']);
    await expect(file.read(first)).rejects.toMatchObject({ status: 404 });
    await file.delete();
    expect(await posts.get('summer')).toMatchObject({ title: 'Summer', attachment: null });
  });

  it('keeps no process alive after the last operation', async () => {
    const program = `
      import { basic, Coffer } from '@coffer/client';
      const coffer = new Coffer(process.argv[2], { auth: basic('ann', 'secret') });
      const notes = coffer.bucket('default').collection('notes');
      await notes.create({ n: 1 });
      for await (const { current } of notes.live()) if (current) break;
      const controller = new AbortController();
      for await (const { current } of notes.live({ transport: 'poll', signal: controller.signal })) if (current) controller.abort();
      console.log('done');`;
    const file = path.join(folder, 'program.mjs');
    await build({
      stdin: { contents: program, resolveDir: projectRoot, loader: 'ts' },
      alias: { '@coffer/client': path.join(projectRoot, 'packages', 'client', 'src', 'index.ts') },
      bundle: true,
      format: 'esm',
      outfile: file,
    });
    const { stdout } = await promisify(execFile)(process.execPath, [file, service.origin], { timeout: 60_000 });
    expect(stdout).toBe('done\n');
  });
});
