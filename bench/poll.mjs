// How fast is the response to a poll without changes, with If-None-Match and with _since, compared with a bare server that
// sends the same response?
import { compareWithBare } from './lib/bare-comparison.mjs';
import { etagOf } from './lib/client.mjs';
import { records } from './lib/data.mjs';

export const title = 'poll';

/** @param {import('./lib/workbench.mjs').Workbench} bench */
export async function* run(bench) {
  const poll = {
    plan: { records: 1000 },
    backends: /** @type {const} */ (['memory', 'sqlite', 'postgresql']),
    targets: { memory: 0.6, sqlite: 0.5, postgresql: 0.25 },
  };
  const path = `/v1${records}`;
  yield* await compareWithBare(bench, {
    ...poll,
    title: 'poll: 304 to If-None-Match',
    requests: async (url) => [{ path, headers: { 'if-none-match': await etagOf(url) } }],
  });
  yield* await compareWithBare(bench, {
    ...poll,
    title: 'poll: empty list since',
    requests: async (url) => [{ path: `${path}?_since=${encodeURIComponent(await etagOf(url))}` }],
  });
}
