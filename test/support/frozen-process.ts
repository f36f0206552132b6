// Stops a process in the middle of what it does, as a machine that swaps or a debugger does; `SIGCONT` lets it go on.
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Resolves when all threads have stopped: a signal that was sent may still be on its way to those that run. */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  while (!isStopped(pid)) await nextTurn();
}

function isStopped(pid: number): boolean {
  const threads = `/proc/${pid}/task`;
  return readdirSync(threads).every((thread) => {
    const [, state] = /^.*\) (\w)/.exec(readFileSync(`${threads}/${thread}/stat`, 'utf8')) ?? [];
    return state === 'T' || state === 't';
  });
}
