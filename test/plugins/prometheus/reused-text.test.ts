// A long text of metrics serves all requests of a second.
import { expect, it } from 'vitest';
import { reuseLong } from '../../../src/plugins/prometheus/reused-text.ts';

const long = (n: number): string => `${n}`.padEnd(100_000);

/** Returns texts of the given function, numbered by how often it was called, with a clock that the test sets. */
function counted(make: (n: number) => Promise<string>): {
  readonly next: () => Promise<string>;
  readonly calls: () => number;
  readonly clock: { now: number };
} {
  const clock = { now: 0 };
  let calls = 0;
  const next = reuseLong(
    () => make(++calls),
    () => clock.now,
  );
  return { next, calls: () => calls, clock };
}

it('a short text is new for each request.', async () => {
  const { next } = counted((n) => Promise.resolve(`${n}`));
  expect([await next(), await next()]).toEqual(['1', '2']);
  expect(await Promise.all([next(), next()])).toEqual(['3', '4']);
});

it('a long text is made once a second.', async () => {
  const { next, clock } = counted((n) => Promise.resolve(long(n)));
  expect([await next(), await next()]).toEqual([long(1), long(1)]);
  clock.now = 999;
  expect(await next()).toBe(long(1));
  clock.now = 1000;
  expect(await Promise.all([next(), next(), next()])).toEqual([long(2), long(2), long(2)]);
  clock.now = 1500;
  expect(await next()).toBe(long(2));
});

it('a text that has become short is new again.', async () => {
  const { next, clock } = counted((n) => Promise.resolve(n === 1 ? long(n) : `${n}`));
  await next();
  clock.now = 1000;
  expect([await next(), await next()]).toEqual(['2', '3']);
});

it('a failure is not kept.', async () => {
  const { next, clock, calls } = counted((n) =>
    n === 2 ? Promise.reject(new Error('no metrics')) : Promise.resolve(long(n)),
  );
  await next();
  clock.now = 1000;
  await expect(next()).rejects.toThrow('no metrics');
  expect([await next(), calls()]).toEqual([long(3), 3]);
});
