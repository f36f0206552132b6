// How fast is one record read, compared with a bare server that sends the same bytes?
import { compareWithBare } from './lib/bare-comparison.mjs';
import { recordId, records } from './lib/data.mjs';

export const title = 'GET one record';

/** @param {import('./lib/workbench.mjs').Workbench} bench */
export async function* run(bench) {
  yield* await compareWithBare(bench, {
    title,
    plan: { records: 1000 },
    backends: ['memory', 'sqlite', 'postgresql', 'redis'],
    targets: { memory: 0.6, sqlite: 0.5, postgresql: 0.25 },
    // Numbers as long as each other, so that all answers have about as many bytes.
    requests: async () => Array.from({ length: 900 }, (_, n) => ({ path: `/v1${records}/${recordId(100 + n)}` })),
  });
}
