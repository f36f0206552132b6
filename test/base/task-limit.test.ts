// The limit on tasks at the same time.
import { describe, expect, it } from 'vitest';
import { TaskLimit, TooManyTasks } from '../../src/base/task-limit.ts';

/** A task that ends when told to. */
function controlled(): {
  readonly task: () => Promise<string>;
  readonly end: (error?: Error) => void;
  started: boolean;
} {
  let end: (error?: Error) => void = () => undefined;
  const done = new Promise<string>((resolve, reject) => {
    end = (error) => (error === undefined ? resolve('done') : reject(error));
  });
  const control = {
    started: false,
    end,
    task() {
      control.started = true;
      return done;
    },
  };
  return control;
}

describe('a limit on tasks', () => {
  it('runs and queues tasks up to its limits, and refuses further ones.', async () => {
    const limit = new TaskLimit({ atOnce: 1, waiting: 2 });
    const tasks = [controlled(), controlled(), controlled()];
    const runs = tasks.map(({ task }) => limit.run(task));
    await expect(limit.run(() => Promise.resolve('late'))).rejects.toThrow(TooManyTasks);
    expect(tasks.map(({ started }) => started)).toEqual([true, false, false]);
    tasks[0]!.end();
    await runs[0];
    await new Promise(setImmediate);
    expect(tasks.map(({ started }) => started)).toEqual([true, true, false]);
    tasks[1]!.end();
    tasks[2]!.end();
    expect(await Promise.all(runs)).toEqual(['done', 'done', 'done']);
    expect(await limit.run(() => Promise.resolve('next'))).toBe('next');
  });

  it('starts the next task after a task fails.', async () => {
    const limit = new TaskLimit({ atOnce: 1, waiting: 1 });
    const failing = controlled();
    const run = limit.run(failing.task);
    const next = limit.run(() => Promise.resolve('next'));
    failing.end(new Error('no'));
    await expect(run).rejects.toThrow('no');
    expect(await next).toBe('next');
  });

  it('refuses the last task of the party with the most when another one comes.', async () => {
    const limit = new TaskLimit({ atOnce: 1, waiting: 3 });
    const done: string[] = [];
    const first = controlled();
    const runs = [limit.run(first.task, 'greedy')];
    const add = (party: string, name: string): Promise<string> => {
      const run = limit.run(async () => Promise.resolve(name), party);
      runs.push(run.then((result) => (done.push(result), result)));
      return run;
    };
    const greedy = ['g1', 'g2', 'g3'].map((name) => add('greedy', name));
    expect([limit.accepts('greedy'), limit.accepts('other')]).toEqual([false, true]);
    const other = add('other', 'o1');
    await expect(greedy[2]).rejects.toThrow(TooManyTasks);
    expect(limit.accepts('other')).toBe(false);
    await expect(limit.run(() => Promise.resolve(''), 'other')).rejects.toThrow(TooManyTasks);
    first.end();
    await other;
    await Promise.allSettled(runs);
    expect(done).toEqual(['o1', 'g1', 'g2']);
  });
});
