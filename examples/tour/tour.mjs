// The tour itself: who takes part, and the steps in their order. Each step returns what it found.
import { randomBytes } from 'node:crypto';
import { Client } from './client.mjs';
import { readLanguages } from './languages.mjs';
import { follow } from './steps/follow.mjs';
import { guard } from './steps/guard.mjs';
import { sayHello } from './steps/hello.mjs';
import { load } from './steps/load.mjs';
import { walkPages } from './steps/pages.mjs';
import { patch } from './steps/patch.mjs';
import { query } from './steps/query.mjs';
import { share } from './steps/share.mjs';
import { settleConflicts, synchronise } from './steps/sync.mjs';

/** @typedef {ReturnType<typeof prepare>} Tour */

/**
 * Gathers who and what the tour needs; nothing is sent yet. Users and bucket are new ones each time, so that a server in
 * use is not disturbed.
 *
 * @param {{ api: string, narrator: import('./narrator.mjs').Narrator }} options address of the service with its version
 */
export function prepare({ api, narrator }) {
  const bucket = `/buckets/tour-${randomBytes(4).toString('hex')}`;
  const collection = `${bucket}/collections/languages`;
  const password = randomBytes(12).toString('base64url');
  return {
    narrator,
    languages: readLanguages(),
    owner: { name: 'alice', password },
    alice: new Client(api, { name: 'alice', password }),
    bob: new Client(api, { name: 'bob', password }),
    stranger: new Client(api),
    bucket,
    collection,
    records: `${collection}/records`,
  };
}

/**
 * Takes every step.
 *
 * @param {Tour} tour
 */
export async function takeTour(tour) {
  const hello = await sayHello(tour);
  const loaded = await load(tour, hello);
  const answered = await query(tour);
  const walked = await walkPages(tour);
  const followed = await follow(tour);
  const patched = await patch(tour);
  const guarded = await guard(tour);
  const shared = await share(tour, hello);
  const { devices, ...synchronised } = await synchronise(tour);
  const settled = await settleConflicts(tour, devices);
  return { hello, loaded, answered, walked, followed, patched, guarded, shared, synchronised, settled };
}

/** Removes what the tour has made. @param {Tour} tour @returns {Promise<void>} */
export async function cleanUp({ alice, bucket }) {
  await alice.request('DELETE', bucket);
}
