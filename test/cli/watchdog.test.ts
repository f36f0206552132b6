// The watchdog of workers gives up those that leave too many checks in a row unanswered.
import { expect, test } from 'vitest';
import { Watchdog } from '../../src/cli/workers/watchdog.ts';

interface Member {
  readonly name: string;
}

function watch(timeoutMs: number): {
  readonly watchdog: Watchdog<Member>;
  readonly pinged: string[];
  readonly givenUp: string[];
} {
  const pinged: string[] = [];
  const givenUp: string[] = [];
  const watchdog = new Watchdog<Member>(timeoutMs, {
    ping: ({ name }) => pinged.push(name),
    giveUp: ({ name }) => givenUp.push(name),
  });
  return { watchdog, pinged, givenUp };
}

test('gives up a silent member once, after as many checks as the timeout has periods, and pings it once.', () => {
  const { watchdog, pinged, givenUp } = watch(60_000);
  const silent = { name: 'silent' };
  expect(watchdog.periodMs).toBe(6000);
  for (let n = 0; n < 10; n++) watchdog.check([silent]);
  expect(givenUp).toEqual([]);
  for (let n = 0; n < 10; n++) watchdog.check([silent]);
  expect(givenUp).toEqual(['silent']);
  expect(pinged).toEqual(['silent']);
});

test('keeps a member that replies late, again and again.', () => {
  const { watchdog, pinged, givenUp } = watch(60_000);
  const [late, silent] = [{ name: 'late' }, { name: 'silent' }];
  for (let reply = 0; reply < 3; reply++) {
    for (let n = 0; n < 10; n++) watchdog.check([late, silent]);
    watchdog.noteReply(late);
  }
  expect(givenUp).toEqual(['silent']);
  expect(pinged.filter((name) => name === 'late')).toHaveLength(3);
});

test('checks at least every ten seconds, and a timeout may have any length.', () => {
  const { watchdog, givenUp } = watch(365 * 86_400_000);
  expect(watchdog.periodMs).toBe(10_000);
  const silent = { name: 'silent' };
  for (let n = 0; n < 3_153_600; n++) watchdog.check([silent]);
  expect(givenUp).toEqual([]);
  watchdog.check([silent]);
  expect(givenUp).toEqual(['silent']);
});
