// The data and the users of the benchmarks. Data is written through the storage contract, as `coffer copy` does it,
// and equals data created over HTTP: the creator of each record is in its `write`.
import { createHmac } from 'node:crypto';
import { StoredObject } from '../../dist/core/objects/stored.js';

/** Secret of all servers of a run. */
export const secret = 'secret of the benchmarks';

/**
 * A user.
 *
 * @param {string} name
 * @returns {{ authorization: string, principal: string }}
 */
export function user(name) {
  const credentials = `${name}:password`;
  return {
    authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
    principal: `basicauth:${createHmac('sha256', secret).update(credentials).digest('hex')}`,
  };
}

/** Owns everything. */
export const owner = user('owner');

export const bucket = '/buckets/bench';
export const collection = `${bucket}/collections/list`;
/** Path of the records that most benchmarks work on. */
export const records = `${collection}/records`;

/** Returns attributes of a record, about 200 bytes with id and timestamp. @param {number} n */
export function attributes(n) {
  return { title: `Record ${n}`, count: (n * 7919) % 100_003, done: n % 3 === 0, text: 'x'.repeat(70) };
}

/** Number of different words in texts. */
const vocabulary = 50_000;

/** Returns the word of a rank, from 1 on: a text has it with a probability of about 0.9 divided by the rank. @param {number} rank */
export function wordOf(rank) {
  return `w${rank.toString(36)}e`;
}

/** Returns attributes with a text of ten words. @param {number} n */
function textAttributes(n) {
  const words = Array.from({ length: 10 }, (_, place) => {
    const scattered = Math.imul(Math.imul(n * 10 + place + 1, 2_654_435_761) ^ (n >>> 3), 2_246_822_519) >>> 0;
    return wordOf(Math.floor(vocabulary ** (scattered / 2 ** 32)));
  });
  return { text: words.join(' '), done: n % 3 === 0 };
}

/** Returns an id as long and as scattered as random ids of clients. Ids of the server begin with the time. @param {number} n */
export function recordId(n) {
  const scattered = (Math.imul(n, 2_654_435_761) >>> 0).toString(16).padStart(8, '0');
  return `${scattered}-0be9-4c4b-8f3e-${n.toString(16).padStart(12, '0')}`;
}

/**
 * @typedef {object} Plan
 * @property {number} records in the collection
 * @property {Record<string, number>} [shared] name of a user → so many records, spread evenly, that the user may read
 * @property {Record<string, number>} [groups] name of a user → number of groups the user is in; the bucket lets the first
 * group of each of them read
 * @property {boolean} [texts] whether the records have texts of ten words
 * @property {number} [lists] further collections `list0`, `list1`, … without records
 *
 * @typedef {import('../../dist/contracts/open-backends.js').OpenStores} OpenStores
 * @typedef {import('../../dist/testing/contract/plain-contracts.js').StorageWriter} StorageWriter
 * @typedef {import('../../dist/testing/contract/plain-contracts.js').PermissionWriter} PermissionWriter
 * @typedef {import('../../dist/engine/unit-of-work.js').Stores} Stores
 */

const chunk = 5000;

/**
 * Fills empty stores.
 *
 * @param {Stores} stores
 * @param {Plan} plan
 */
export async function fill(stores, { records: count, shared = {}, groups = {}, lists = 0, texts = false }) {
  const write = texts ? textAttributes : attributes;
  const begin = Date.now() - count - 10_000;
  const others = Array.from({ length: lists }, (_, n) => `list${n}`);
  await inUnit(stores, async (storage, permission) => {
    await storage.restore({ kind: 'bucket', parent: '' }, listOf(begin, ['bench', 'other']));
    await storage.restore({ kind: 'collection', parent: bucket }, listOf(begin, ['list', ...others]));
    await storage.restore({ kind: 'collection', parent: '/buckets/other' }, listOf(begin, ['list']));
    const read = Object.keys(groups).map((name) => `${bucket}/groups/${name}0`);
    await permission.addToAces([
      { objectId: bucket, permissions: { write: [owner.principal], ...(read.length > 0 ? { read } : {}) } },
      { objectId: '/buckets/other', permissions: { write: [owner.principal] } },
      ...[collection, '/buckets/other/collections/list', ...others.map((id) => `${bucket}/collections/${id}`)].map(
        (objectId) => ({
          objectId,
          permissions: { write: [owner.principal] },
        }),
      ),
    ]);
  });
  for (const [name, size] of Object.entries(groups)) await join(stores, name, size);
  const strides = Object.entries(shared).map(([name, size]) => ({
    stride: Math.max(1, Math.floor(count / size)),
    principal: user(name).principal,
  }));
  for (let start = 0; start < count; start += chunk) {
    const numbers = Array.from({ length: Math.min(chunk, count - start) }, (_, n) => start + n);
    await inUnit(stores, async (storage, permission) => {
      const entries = numbers.map((n) => new StoredObject(recordId(n), begin + 1 + n, JSON.stringify(write(n))));
      await storage.restore({ kind: 'record', parent: collection }, { clock: begin, entries });
      await permission.addToAces(
        numbers.map((n) => {
          const read = strides.filter(({ stride }) => n % stride === 0).map(({ principal }) => principal);
          const permissions = { write: [owner.principal], ...(read.length > 0 ? { read } : {}) };
          return { objectId: `${records}/${recordId(n)}`, permissions };
        }),
      );
    });
  }
  for (const database of new Set([stores.storage.database, stores.permission.database])) {
    await database.refreshStatistics?.();
  }
}

/** @param {number} begin @param {string[]} ids */
function listOf(begin, ids) {
  return { clock: begin, entries: ids.map((id, n) => new StoredObject(id, begin + 1 + n, '{}')) };
}

/** Adds a user to groups. @param {Stores} stores @param {string} name @param {number} size */
async function join(stores, name, size) {
  const { principal } = user(name);
  for (let start = 0; start < size; start += chunk) {
    await inUnit(stores, async (_storage, permission) => {
      const end = Math.min(size, start + chunk);
      const calls = [];
      for (let n = start; n < end; n++)
        calls.push(permission.addUserPrincipal(principal, `${bucket}/groups/${name}${n}`));
      await Promise.all(calls);
    });
  }
}

/**
 * @param {Stores} stores whose storage and permissions share a database
 * @param {(storage: StorageWriter, permission: PermissionWriter) => Promise<void>} write
 */
async function inUnit(stores, write) {
  const transaction = await stores.storage.database.begin();
  try {
    await write(stores.storage.writer(transaction), stores.permission.writer(transaction));
    await transaction.commit();
  } catch (error) {
    await transaction.rollback();
    throw error;
  }
}
