// A server whose log nobody reads any more, as behind `| head`, stops all the same.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { Workspace } from '../support/server-process.ts';
import { fileURLToPath } from 'node:url';

const executable = fileURLToPath(new URL('../../bin/coffer.js', import.meta.url));

test('the server ends at SIGTERM although the reader of its log is gone', async () => {
  const workspace = await Workspace.create();
  const child = spawn(process.execPath, [executable, 'start', '--config', workspace.config, '--port', '0'], {
    cwd: workspace.folder,
    env: {
      PATH: process.env['PATH'],
      ...workspace.environment('memory'),
      SVC_LOG_LEVEL: 'info',
      SVC_LOG_FORMAT: 'json',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  child.stdout.destroy();
  child.kill('SIGTERM');
  const [code, signal] = await exited;
  await workspace.remove();
  expect([code, signal]).toEqual([0, null]);
});
