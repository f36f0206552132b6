// How fast is a poll answered when nothing has changed, with If-None-Match and with _since, compared with a bare server
// that answers the same?
import { besideBare } from './lib/beside-bare.mjs';
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
  yield* await besideBare(bench, {
    ...poll,
    title: 'poll: 304 to If-None-Match',
    requests: async (url) => [{ path, headers: { 'if-none-match': await etagOf(url) } }],
  });
  yield* await besideBare(bench, {
    ...poll,
    title: 'poll: empty list since',
    requests: async (url) => [{ path: `${path}?_since=${encodeURIComponent(await etagOf(url))}` }],
  });
}
