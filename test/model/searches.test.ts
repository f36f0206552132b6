// Text search of a service and of the model, side by side: with filters, orders and pages, by owners and by users with
// permissions on some records. COFFER_PROVE_SEED repeats a run, COFFER_PROVE_BACKEND chooses a backend.
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { allBackends } from '../support/backends.ts';
import { inExtent, sized } from '../support/extent.ts';
import { newTally, runHistory } from './run.ts';
import { anySearches } from './searches.ts';
import { openSubject } from './subject.ts';
import { worlds } from './world.ts';

const { COFFER_PROVE_SEED, COFFER_PROVE_BACKEND } = process.env;
const histories = sized('COFFER_PROVE_SEARCHES', 2, 20);
const seed = Number(COFFER_PROVE_SEED ?? String(Date.now() % 2 ** 31));
const backends = allBackends.filter(({ name }) => name !== 'redis' && (COFFER_PROVE_BACKEND ?? name) === name);

describe('the model of text search', () => {
  it.each(backends)(
    `expects every answer of a service on $name (seed ${seed})`,
    async (backend) => {
      for (const [number, world] of inExtent([worlds[seed % worlds.length]!], worlds).entries()) {
        const subject = await openSubject(backend, world);
        try {
          const property = fc.asyncProperty(anySearches(60), (steps) => runHistory(subject, steps, newTally()));
          const patience = { plugins: [fc.interruptAfterTimeLimit(60_000 + histories * 2000)] };
          await fc.assert(property, { seed: seed + number, numRuns: histories, ...patience });
        } finally {
          await subject.close();
        }
      }
    },
    180_000 + histories * 6000,
  );
});
