// The name of the file of an export: it appears with the complete file alone, and belongs to the first export that ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { expect, onTestFinished, test } from 'vitest';
import { ExportRefused, writeFile } from '../../../src/transfer/export/export-file.ts';

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-export-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  return folder;
}

/** Writes a text, after some other work. */
function write(path: string, text: string, before: () => Promise<unknown> = () => Promise.resolve()): Promise<void> {
  return writeFile(path, async (sink) => {
    await sink.write(Buffer.from(text.slice(0, 1)));
    await before();
    await sink.write(Buffer.from(text.slice(1)));
  });
}

test('of two exports with one name, the first to end has it, and the other one fails', async () => {
  const folder = newFolder();
  const path = join(folder, 'x.ndjson');
  const late = write(path, 'late', () => write(path, 'early'));
  await expect(late).rejects.toThrow(new ExportRefused(`${path} exists already`));
  expect(readFileSync(path, 'utf8')).toBe('early');
  expect(lstatSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['x.ndjson']);
});

test('nothing is written through a link that others have put there', async () => {
  const folder = newFolder();
  const [path, victim, absent, led] = ['x.ndjson', 'victim', 'absent', 'led'].map((name) => join(folder, name));
  writeFileSync(victim!, 'precious');
  symlinkSync(victim!, `${path!}.part`);
  await write(path!, 'export');
  expect(readFileSync(victim!, 'utf8')).toBe('precious');
  expect(lstatSync(path!).isFile()).toBe(true);
  symlinkSync(absent!, led!);
  await expect(write(led!, 'export')).rejects.toThrow('led exists already');
  expect(existsSync(absent!)).toBe(false);
});

test('a name may be as long as the file system allows', async () => {
  const folder = newFolder();
  const name = `${'x'.repeat(248)}.ndjson`;
  await write(join(folder, name), 'export');
  expect(readdirSync(folder)).toEqual([name]);
});

test.each(['absent/x.ndjson', 'absent/'])('%s in a folder that does not exist is refused by its name', async (name) => {
  const path = `${newFolder()}/${name}`;
  await expect(write(path, 'export')).rejects.toThrow(
    new ExportRefused(`${path} cannot be written: its folder does not exist`),
  );
});

/** Starts a program that has the functions of the built module, the path of a file in an empty folder, and `fs`. */
function startProgram(path: string, program: string): ReturnType<typeof spawn> {
  const { href } = new URL('../../../dist/transfer/export/export-file.js', import.meta.url);
  const text = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const path = ${JSON.stringify(path)};
    const load = () => import(${JSON.stringify(href)});
    ${program}`;
  const args = ['--input-type=module', '--eval', text];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

test.each(['SIGINT', 'SIGTERM'] as const)('nothing is left when %s ends the process', async (signal) => {
  const folder = newFolder();
  const child = startProgram(
    join(folder, 'x.ndjson'),
    `const { writeFile } = await load();
    await writeFile(path, async (sink) => {
      await sink.write(Buffer.from('begun'));
      process.stdout.write('begun');
      setInterval(() => {}, 60_000);
      await new Promise(() => {});
    });`,
  );
  const exited = once(child, 'exit');
  await once(child.stdout!, 'data');
  expect(readdirSync(folder)).toHaveLength(1);
  child.kill(signal);
  expect(await exited).toEqual([null, signal]);
  expect(readdirSync(folder)).toEqual([]);
});

test('on a file system without hard links the same rules hold', async () => {
  const folder = newFolder();
  const child = startProgram(
    join(folder, 'x.ndjson'),
    `fs.promises.link = () => Promise.reject(Object.assign(new Error('no links'), { code: 'EPERM' }));
    syncBuiltinESMExports();
    const { writeFile } = await load();
    const write = (text, before) => writeFile(path, async (sink) => {
      await before?.();
      await sink.write(Buffer.from(text));
    });
    const refusal = await write('late', () => write('early')).catch((error) => error.message);
    process.exitCode = refusal === path + ' exists already' ? 0 : 9;`,
  );
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(readFileSync(join(folder, 'x.ndjson'), 'utf8')).toBe('early');
  expect(readdirSync(folder)).toEqual(['x.ndjson']);
});
