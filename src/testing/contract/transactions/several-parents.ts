// The case about units that write below several parents, for databases that make such writes visible in one step.
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TransactionCase, TransactionContext } from '../contract-case.ts';
import { inUnit } from '../unit-of-work.ts';

const parents = ['/buckets/a', '/buckets/b', '/buckets/c'];
const rounds = 20;

async function numberIn({ storage }: TransactionContext, parent: string): Promise<number> {
  return Number((await storage.reader.get({ kind: 'group', parent }, 'g'))?.attributes['n'] ?? 0);
}

async function write(context: TransactionContext): Promise<void> {
  for (let n = 1; n <= rounds; n++) {
    await inUnit(context.database, async (transaction) => {
      const storage = context.storage.writer(transaction);
      for (const parent of parents) await storage.update({ kind: 'group', parent }, 'g', `{"n":${n}}`);
    });
  }
}

/** A reader that sees a number below one parent sees no lower one below the next, in either order. */
async function look(context: TransactionContext): Promise<void> {
  for (const order of [parents, parents.toReversed()]) {
    let least = 0;
    for (const parent of order) {
      const n = await numberIn(context, parent);
      assert.ok(n >= least, `${parent} is at ${n} where another was at ${least} before`);
      least = n;
    }
  }
}

/** The promise of `atomicAcrossParents`. */
export const severalParentsCases: readonly TransactionCase[] = [
  {
    name: 'writes of a unit below several parents become visible in one step',
    needs: ['atomicAcrossParents'],
    async run(context) {
      const progress = { writing: true };
      const writing = write(context).finally(() => (progress.writing = false));
      // A backend that responds without I/O would otherwise never get to its commits.
      for (; progress.writing; await nextTurn()) await look(context);
      await writing;
      assert.deepEqual(await Promise.all(parents.map((parent) => numberIn(context, parent))), [rounds, rounds, rounds]);
    },
  },
];
