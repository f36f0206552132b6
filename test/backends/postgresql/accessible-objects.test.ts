// The objects that are shared with a user, when they are very many: other requests run while the rows are read.
import { expect, it } from 'vitest';
import { collectAccessible } from '../../../src/backends/postgresql/accessible-objects.ts';

it('collects very many rows in steps', () => {
  const count = 50_000;
  const rows = Array.from({ length: count }, (_, n) => ['/buckets/b/collections/c/records/', `r${n}`, 'read']);
  const steps = collectAccessible(rows, (objectId) => !objectId.endsWith('0'));
  for (let taken = 1; ; taken++) {
    const step = steps.next();
    if (step.done !== true) continue;
    expect(step.value.size).toBe(count * 0.9);
    expect(taken).toBeGreaterThan(20);
    return;
  }
});
