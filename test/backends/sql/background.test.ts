// Work in the background: goes on while there is more, and misses no call.
import { expect, it } from 'vitest';
import { Background } from '../../../src/backends/sql/background.ts';

/** Work whose steps are awaited and answered by the test. */
function createWork(): { step: () => Promise<(more: boolean) => void>; work: () => Promise<boolean> } {
  const started: ((more: boolean) => void)[] = [];
  let arrived = (): void => {};
  return {
    work: () =>
      new Promise((answer) => {
        started.push(answer);
        arrived();
      }),
    async step() {
      if (started.length === 0) {
        await new Promise<void>((resolve) => {
          arrived = resolve;
        });
      }
      return started.shift()!;
    },
  };
}

it('goes on as long as a step says that there is more, and after a call that came during a step', async () => {
  const { work, step } = createWork();
  let steps = 0;
  const background = new Background(() => {
    steps++;
    return work();
  });
  background.wake();
  (await step())(true);
  const last = await step();
  // What this call is about, the step may have missed.
  background.wake();
  last(false);
  (await step())(false);
  await background.stop();
  expect(steps).toBe(3);
});

it('ends with the step under way when it is stopped', async () => {
  const { work, step } = createWork();
  const background = new Background(work);
  background.wake();
  const answer = await step();
  let isStopped = false;
  const stopping = background.stop().then(() => (isStopped = true));
  await Promise.resolve();
  expect(isStopped).toBe(false);
  answer(true);
  await stopping;
  background.wake();
  expect(isStopped).toBe(true);
});
