// The pauses of background work, with an event loop whose times the test makes up.
import { expect, it } from 'vitest';
import { Pace, type LoopTimes } from '../../../src/backends/sqlite/pacing.ts';

/** Pieces of work that take 10 ms each, with so long a pause between them as is asked for. */
function work(
  pieces: number,
  othersDo: (pauseMs: number) => { readonly activeMs: number; readonly waitedMs?: number },
) {
  let times: LoopTimes = { active: 0, idle: 0 };
  const pace = new Pace(() => times);
  const pauses: number[] = [];
  for (let n = 0; n < pieces; n++) {
    const { pauseMs } = pace;
    pauses.push(pauseMs);
    const { activeMs, waitedMs = 0 } = othersDo(pauseMs);
    const idle = Math.max(0, pauseMs + waitedMs - activeMs);
    times = { active: times.active + activeMs, idle: times.idle + idle };
    pace.resume(waitedMs);
    times = { ...times, active: times.active + 10 };
    pace.pause(10);
  }
  return pauses;
}

it('begins with long pauses, as nothing is known, and ends with hardly any when nobody else does anything', () => {
  const pauses = work(40, () => ({ activeMs: 0 }));
  expect(pauses[0]).toBe(50);
  expect(pauses).toEqual(pauses.toSorted((a, b) => b - a));
  expect(pauses.at(-1)).toBe(1);
});

it('leaves others the longer pauses the more they do, and gets on even when they are always busy', () => {
  const last = (share: number): number =>
    work(60, (pauseMs) => ({ activeMs: Math.min(pauseMs, share * (pauseMs + 10)) })).at(-1)!;
  const pauses = [0.1, 0.3, 0.5, 1].map(last);
  expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
  // What they want of the whole time fits into the pause.
  expect(pauses[1]! / (pauses[1]! + 10)).toBeGreaterThan(0.3);
  expect(pauses[2]! / (pauses[2]! + 10)).toBeGreaterThan(0.5);
  expect(pauses[3]).toBe(50);
});

it('takes the time in which others have the turn to write for theirs, although they only wait for the disk', () => {
  expect(work(60, () => ({ activeMs: 0, waitedMs: 30 })).at(-1)).toBeGreaterThan(10);
});

it('soon has short pauses again when others are done', () => {
  let n = 0;
  const pauses = work(60, (pauseMs) => ({ activeMs: n++ < 30 ? pauseMs : 0 }));
  expect(pauses[30]).toBe(50);
  expect(pauses[50]).toBe(1);
});
