import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMemoryDatabase } from '../../../src/backends/memory/database.ts';
import { createMemoryPermission } from '../../../src/backends/memory/permission.ts';
import { createMemoryStorage } from '../../../src/backends/memory/storage.ts';
import { createTestClock, type TransactionContext } from '../../../src/testing/index.ts';
import { anyHistory } from '../../contract/history.ts';
import { advanceClock, runStep } from '../../contract/run-history.ts';

const start = 1000;

function open(): TransactionContext {
  const clock = createTestClock(start);
  const database = createMemoryDatabase({ clock });
  return { clock, database, storage: createMemoryStorage(database), permission: createMemoryPermission(database) };
}

describe('memory transactions', () => {
  it('leave no trace when they are rolled back', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory(start), async (steps) => {
        const [one, other] = [open(), open()];
        for (const step of steps) {
          advanceClock(one.clock, step);
          advanceClock(other.clock, step);
          const answers = await runStep(one, step);
          if (step.end === 'commit') expect(answers).toEqual(await runStep(other, step));
          else {
            const kept = { ...step, writes: [], end: 'commit' } as const;
            expect(answers.slice(step.writes.length)).toEqual(await runStep(other, kept));
          }
        }
      }),
      { numRuns: 100 },
    );
  });
});
