// Background work continues while more is left, and handles every call.
import { expect, it } from 'vitest';
import { Background } from '../../../src/backends/sql/background.ts';

/** Work whose steps the test awaits and completes. */
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

it('continues while a step reports more work, and after a call that came during a step', async () => {
  const { work, step } = createWork();
  let steps = 0;
  const background = new Background(() => {
    steps++;
    return work();
  });
  background.wake();
  (await step())(true);
  const last = await step();
  // The step may have missed the work of this call.
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
