// How fast is a list of 100 records read, compared with a bare server that sends the same bytes?
import { compareWithBare } from './lib/bare-comparison.mjs';
import { records } from './lib/data.mjs';

export const title = 'list of 100 records';

/** @param {import('./lib/workbench.mjs').Workbench} bench */
export async function* run(bench) {
  yield* await compareWithBare(bench, {
    title,
    plan: { records: 100 },
    backends: ['memory', 'sqlite', 'postgresql'],
    targets: { memory: 0.5, sqlite: 0.4, postgresql: 0.25 },
    requests: async () => [{ path: `/v1${records}` }],
  });
}
