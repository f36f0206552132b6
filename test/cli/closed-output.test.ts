// Programs whose output has no reader any more, as behind `| head`, complete their work, and a server still stops. Other errors
// of the output are reported.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { spawnServer, Workspace } from '../support/server-process.ts';
import { run, workingFolder } from './process.ts';

const program = fileURLToPath(new URL('../../bin/coffer.js', import.meta.url));

test('the server stops on SIGTERM although the reader of its log is gone', async () => {
  const workspace = await Workspace.create();
  const child = spawnServer(workspace, workspace.environment('memory'), ['ignore', 'pipe', 'ignore']);
  const exited = once(child, 'exit');
  await once(child.stdout!, 'data');
  child.stdout!.destroy();
  child.kill('SIGTERM');
  const [code, signal] = await exited;
  await workspace.remove();
  expect([code, signal]).toEqual([0, null]);
});

test.each([[['check']], [['--help']]])(
  'coffer %j completes quietly although the reader of its output is gone',
  async (args) => {
    const child = spawn(process.execPath, [program, ...args], {
      cwd: workingFolder(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    const [complaints, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect([code, complaints]).toEqual([0, '']);
  },
);

test.each([
  ['version', []],
  ['migrate', []],
  ['export', ['-']],
])('coffer %s names the error and exits with 1 when its output cannot be written', async (command, more) => {
  const cwd = workingFolder();
  await run(['migrate'], { cwd });
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [program, command, ...more], { cwd, stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  const [complaints, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
  const [first, ...others] = complaints.trimEnd().split('\n');
  expect([code, first]).toEqual([1, 'coffer: standard output cannot be written: ENOSPC']);
  expect(others).toEqual(command === 'export' ? [expect.stringContaining('the export cannot be written')] : []);
});

test('coffer export fails when the reader of the file is gone', async () => {
  const cwd = workingFolder();
  await run(['migrate'], { cwd });
  const child = spawn(process.execPath, [program, 'export', '-'], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  const [complaints, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(code).toBe(1);
  expect(complaints).toContain('EPIPE');
});
