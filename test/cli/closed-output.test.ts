// A server whose log has no reader any more, as behind `| head`, still stops.
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { spawnServer, Workspace } from '../support/server-process.ts';

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
