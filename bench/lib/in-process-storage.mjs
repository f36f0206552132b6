// Measures the processor time of the memory backend itself for a new record with its permission entry: the object (indexed
// by id, by timestamp and in its list), the clock, and the entry (indexed by object and by principal). The rest of a POST is
// checks and the response.
import { randomUUID } from 'node:crypto';
import process from 'node:process';
import { createMemoryDatabase } from '../../dist/backends/memory/database.js';
import { systemClock } from '../../dist/base/clock.js';
import { attributes, owner } from './data.mjs';
import { median } from './contest.mjs';

/** @typedef {import('../../dist/testing/contract/plain-contracts.js').ConditionalWrite} ConditionalWrite */
/** @typedef {import('../../dist/testing/contract/plain-contracts.js').Database} Database */

/** @param {string} kind @param {string} parent @param {string} id @param {Partial<ConditionalWrite>} [more] @returns {ConditionalWrite} */
function creation(kind, parent, id, more = {}) {
  return {
    list: { kind, parent },
    id,
    holder: undefined,
    expected: undefined,
    text: '{}',
    uri: undefined,
    entries: {},
    ...more,
  };
}

/**
 * @param {{ rounds: number, requests: number }} size
 * @returns {Promise<{ least: number, median: number }>} microseconds for each record
 */
export async function measureMemoryWrites({ rounds, requests }) {
  /** @type {Database} */
  const database = createMemoryDatabase({ clock: systemClock });
  const write = async (/** @type {ConditionalWrite} */ lone) => {
    if ((await database.writeConditionally?.(lone)) === undefined) throw new Error('nothing was written');
  };
  await write(creation('bucket', '', 'b'));
  await write(creation('collection', '/buckets/b', 'c'));
  const holder = { list: { kind: 'collection', parent: '/buckets/b' }, id: 'c' };
  const parent = '/buckets/b/collections/c';
  const text = JSON.stringify(attributes(1));
  const micros = [];
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    for (let n = 0; n < requests; n++) {
      const id = randomUUID();
      const entries = { write: [owner.principal] };
      await write(
        creation('record', parent, id, { holder, text, entries, isFresh: true, uri: `${parent}/records/${id}` }),
      );
    }
    const { user, system } = process.cpuUsage(before);
    micros.push((user + system) / requests);
  }
  await database.close();
  return { least: Math.min(...micros), median: median(micros) };
}
