// The pauses of background work, with event loop times made by the test.
import { expect, it } from 'vitest';
import { Pace, type LoopTimes } from '../../src/base/pacing.ts';

/** Chunks of work of 10 ms each, with the requested pauses between them. */
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

it('starts with long pauses, and ends with minimal ones when nothing else runs', () => {
  const pauses = work(40, () => ({ activeMs: 0 }));
  expect(pauses[0]).toBe(50);
  expect(pauses).toEqual(pauses.toSorted((a, b) => b - a));
  expect(pauses.at(-1)).toBe(1);
});

it('makes longer pauses under higher load, and continues under full load', () => {
  const last = (share: number): number =>
    work(60, (pauseMs) => ({ activeMs: Math.min(pauseMs, share * (pauseMs + 10)) })).at(-1)!;
  const pauses = [0.1, 0.3, 0.5, 1].map(last);
  expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
  // Their share of the time fits into the pause.
  expect(pauses[1]! / (pauses[1]! + 10)).toBeGreaterThan(0.3);
  expect(pauses[2]! / (pauses[2]! + 10)).toBeGreaterThan(0.5);
  expect(pauses[3]).toBe(50);
});

it('counts the time of other writers as load, even when they only wait for the disk', () => {
  expect(work(60, () => ({ activeMs: 0, waitedMs: 30 })).at(-1)).toBeGreaterThan(10);
});

it('has short pauses again soon after the load ends', () => {
  let n = 0;
  const pauses = work(60, (pauseMs) => ({ activeMs: n++ < 30 ? pauseMs : 0 }));
  expect(pauses[30]).toBe(50);
  expect(pauses[50]).toBe(1);
});
