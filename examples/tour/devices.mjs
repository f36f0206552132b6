// Two devices of one user, each with kinto.js and a database of its own. kinto.js is the unmodified package `kinto`
// from npm; in a browser it keeps its records in IndexedDB, here in an IndexedDB that lives in memory.
import { createRequire } from 'node:module';
import 'fake-indexeddb/auto';

/** The package is CommonJS, and what counts is its `default`. @type {typeof import('kinto')} */
const { default: Kinto } = createRequire(import.meta.url)('kinto');

/**
 * @typedef {{ id: string, last_modified?: number, [field: string]: unknown }} LocalRecord
 *
 * @typedef {object} SyncResult what a synchronisation did, as kinto.js tells it
 * @property {boolean} ok
 * @property {readonly LocalRecord[]} created
 * @property {readonly { old: LocalRecord, new: LocalRecord }[]} updated
 * @property {readonly LocalRecord[]} deleted
 * @property {readonly LocalRecord[]} published
 * @property {readonly Conflict[]} conflicts
 * @property {readonly { id: string }[]} resolved
 * @property {readonly { message: string }[]} errors
 *
 * @typedef {{ type: 'incoming' | 'outgoing', local: LocalRecord, remote: LocalRecord }} Conflict
 *
 * @typedef {object} Device a collection that works without a network and synchronises when told to
 * @property {(record: { [field: string]: unknown }) => Promise<{ data: LocalRecord }>} create
 * @property {(record: LocalRecord, options?: { patch: boolean }) => Promise<{ data: LocalRecord }>} update
 * @property {(id: string) => Promise<unknown>} delete
 * @property {(id: string) => Promise<{ data: LocalRecord }>} get
 * @property {() => Promise<{ data: LocalRecord[] }>} list
 * @property {(conflict: Conflict, resolution: LocalRecord) => Promise<unknown>} resolve
 * @property {(options?: { strategy?: string, remote?: string, retry?: number }) => Promise<SyncResult>} sync
 */

/** What to do when both sides have changed a record. */
export const strategies = Kinto.syncStrategy;

/**
 * A device that knows nothing yet.
 *
 * @param {object} options
 * @param {string} options.name tells the databases of the devices apart
 * @param {string} options.remote address of the service with its version
 * @param {string} options.authorization the header that says who synchronises
 * @param {string} options.bucket
 * @param {string} options.collection
 * @returns {Device}
 */
export function createDevice({ name, remote, authorization, bucket, collection }) {
  const store = new Kinto({
    remote,
    bucket,
    headers: { Authorization: authorization },
    adapterOptions: { dbName: name },
    timeout: 30_000,
  });
  return store.collection(collection);
}

/**
 * What a device holds, by id and without what it keeps for itself: to be compared with others.
 *
 * @param {readonly LocalRecord[]} records
 * @returns {Record<string, unknown>[]}
 */
export function comparable(records) {
  return records.map(({ _status, ...record }) => record).toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}
