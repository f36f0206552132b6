// Random offline histories of four kinds of clients with one list, with restarts and interruptions: in the end, all copies
// and the list are equal, no confirmed edit is lost, and each conflict has ended as the strategy of its client says.
import { appendFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { clients, history, runHistory } from './history.ts';
import { backends, World } from './world.ts';

/** Number of histories for each backend. A failure prints the seed and the path, which repeat it. */
const numRuns = Number(process.env['COFFER_CONVERGENCE_RUNS'] ?? (process.env['COFFER_TESTS'] === 'short' ? 3 : 12));
const seed = process.env['COFFER_CONVERGENCE_SEED'];
const path = process.env['COFFER_CONVERGENCE_PATH'];
const only = process.env['COFFER_CONVERGENCE_BACKEND'];
/** A file that gets a byte for each history. */
const progress = process.env['COFFER_CONVERGENCE_PROGRESS'];

describe.each(backends.filter((name) => only === undefined || name === only))(
  'Four clients of a list on %s',
  (backend) => {
    let world: World;
    let runs = 0;
    beforeAll(async () => {
      world = await World.start(backend, [...clients, 'owner']);
    });
    afterAll(() => world.close());

    it(
      'have its content after random histories, and have lost nothing but conflicts',
      { timeout: 180_000 + numRuns * 10_000 },
      async () => {
        // The outbox of TanStack DB reports each mutation that fails.
        for (const name of ['warn', 'error'] as const) vi.spyOn(console, name).mockImplementation(() => undefined);
        const property = fc.asyncProperty(history, async (given) => {
          runs += 1;
          expect(await runHistory(world, given)).toEqual([]);
          if (progress !== undefined) appendFileSync(progress, '.');
        });
        await fc.assert(property, {
          numRuns,
          endOnFailure: true,
          ...(seed === undefined ? {} : { seed: Number(seed) }),
          ...(path === undefined ? {} : { path }),
        });
        expect(runs).toBeGreaterThanOrEqual(path === undefined ? numRuns : 1);
      },
    );
  },
);
