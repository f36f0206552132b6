// Creates records one by one and in batches, for several benchmarks.
import { attributes, records } from './data.mjs';

/** Entries of a batch. */
export const perBatch = 25;

const body = { data: attributes(1) };
const entries = Array.from({ length: perBatch }, () => ({ method: 'POST', path: records, body }));

/** Creates a record. */
export const createOne = { method: 'POST', path: `/v1${records}`, body: JSON.stringify(body) };

/** Creates `perBatch` records. */
export const createBatch = { method: 'POST', path: '/v1/batch', body: JSON.stringify({ requests: entries }) };

/** @param {{ cpuMicros: number, databaseMicros: number }} figures of a batch */
export function perRecord({ cpuMicros, databaseMicros }) {
  return { cpuMicros: cpuMicros / perBatch, databaseMicros: databaseMicros / perBatch };
}
