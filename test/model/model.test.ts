// Service and model are driven by the same random histories, and must agree on every answer. COFFER_PROVE_SECONDS makes it
// run longer, COFFER_PROVE_SEED repeats a run, COFFER_PROVE_BACKEND chooses one: `npm run prove` sets them.
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { allBackends } from '../support/backends.ts';
import { newTally, runHistory } from './run.ts';
import { anyHistory } from './steps.ts';
import { openSubject } from './subject.ts';
import { worlds } from './world.ts';
import { sized } from '../support/extent.ts';

const { COFFER_PROVE_SEED, COFFER_PROVE_BACKEND, COFFER_PROVE_SHRINK } = process.env;
const seconds = sized('COFFER_PROVE_SECONDS', 3, 4);
const seed = Number(COFFER_PROVE_SEED ?? String(Date.now() % 2 ** 31));
/** Of the search for the shortest history that fails. */
const patience = {
  plugins: [fc.interruptAfterTimeLimit(60_000)],
  endOnFailure: COFFER_PROVE_SHRINK === 'no',
};
const backends = allBackends.filter(({ name }) => (COFFER_PROVE_BACKEND ?? name) === name);

describe('the model of the protocol', () => {
  it.each(backends)(
    `expects every answer of a service on $name (seed ${seed})`,
    async (backend) => {
      const subjects = await Promise.all(worlds.map((world) => openSubject(backend, world)));
      const tally = newTally();
      try {
        const end = performance.now() + seconds * 1000;
        // In rounds, so that what is found at the end is shrunk as well; each world has its turn.
        for (let round = 0; performance.now() < end; round++) {
          const subject = subjects[(seed + round) % subjects.length]!;
          const property = fc.asyncProperty(anyHistory(80, subject.world), (steps) =>
            runHistory(subject, steps, tally),
          );
          await fc.assert(property, { seed: seed + round, numRuns: 3, ...patience });
        }
      } finally {
        await Promise.all(subjects.map((subject) => subject.close()));
        const statuses = [...tally.statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
        console.log(
          `${backend.name}, seed ${seed}: ${tally.histories} histories, ${tally.requests} requests (${statuses.join(', ')})`,
        );
      }
    },
    seconds * 1000 + 120_000,
  );
});
