// Long computations that run alternately with each other and with other tasks.
import { describe, expect, it } from 'vitest';
import { pause, runWithPauses, type Steps, type Urgency } from '../../src/base/steps.ts';

function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Does the number of steps, and reports each. */
function* walk(name: string, steps: number, tell: (name: string) => void): Steps<string> {
  for (let n = 0; n < steps; n++) {
    tell(name);
    yield;
  }
  return name;
}

function run(name: string, steps: number, urgency: Urgency, tell: (name: string) => void): Promise<string> {
  return runWithPauses(walk(name, steps, tell), urgency, (step) => step());
}

describe('long computations', () => {
  it('run one at a time, one step in each turn of the event loop.', async () => {
    const told: string[] = [];
    const names = ['a', 'b', 'c', 'd'];
    const walks = Promise.all(names.map((name) => run(name, 4, 'normal', (step) => told.push(step))));
    expect(told).toEqual(names);
    for (let turn = 0; turn < 8; turn++) {
      const before = told.length;
      await turnOfEventLoop();
      expect(told.length - before).toBeLessThanOrEqual(1);
    }
    expect(await walks).toEqual(names);
    expect(told).toEqual([...names, ...names, ...names, ...names]);
  });

  it('that other requests wait for get most of the steps, without starving any.', async () => {
    const told: string[] = [];
    const tell = (step: string): void => void told.push(step);
    await Promise.all([
      run('read', 6, 'normal', tell),
      run('other', 6, 'normal', tell),
      run('unit', 12, 'urgent', tell),
    ]);
    // After the first step of each.
    const rest = told.slice(3);
    expect(rest.filter((name) => name === 'unit')).toHaveLength(11);
    expect(rest.lastIndexOf('unit')).toBeLessThan(15);
    expect(rest.slice(0, 5)).toContain('read');
  });

  it('that pause on their own are scheduled like others.', async () => {
    let turns = 0;
    let isOver = false;
    const counting = (async () => {
      while (!isOver) {
        await turnOfEventLoop();
        turns++;
      }
    })();
    await Promise.all(Array.from({ length: 10 }, () => pause('normal')));
    isOver = true;
    await counting;
    expect(turns).toBeGreaterThanOrEqual(9);
  });

  it('end with the error of the step that fails.', async () => {
    const failing = runWithPauses(
      walk('a', 2, () => undefined),
      'normal',
      (step) => {
        step();
        throw new Error('broken');
      },
    );
    await expect(failing).rejects.toThrow('broken');
  });
});
