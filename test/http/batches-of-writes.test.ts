// Batches of writes to a few records, whose entries depend on each other: every backend gives the same responses as the one
// in memory, which reads each object when its entry needs it.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestClock, startTestService, type TestService } from '../../src/testing/index.ts';
import { allBackends } from '../support/backends.ts';
import { sized } from '../support/extent.ts';

const bucket = '/buckets/b';
const collection = `${bucket}/collections/c`;
const runs = sized('COFFER_BATCH_RUNS', 15, 60);
const start = 1_000_000;

interface Entry {
  readonly method: string;
  readonly path: string;
  /** `If-Match` is the age of a timestamp, about the number of writes since. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

const users = ['alice', 'bob'] as const;

/** Longer than what a backend reads together with other objects. */
const long = 'x'.repeat(70_000);

const data = fc.oneof(
  { weight: 9, arbitrary: fc.record({ n: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.constant({ long }) },
);
const permissions = fc.constantFrom(
  undefined,
  undefined,
  { write: ['system.Authenticated'] },
  { read: ['system.Everyone'], write: [] },
);
const body = fc
  .record({ data, permissions })
  .map((each) => (each.permissions === undefined ? { data: each.data } : each));
const records = fc.constantFrom('a', 'b', 'c', 'd').map((id) => `${collection}/records/${id}`);
const conditions = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant({ 'If-None-Match': '*' }) },
  { weight: 2, arbitrary: fc.nat(20).map((age) => ({ 'If-Match': String(age) })) },
);

function entry(method: string, path: fc.Arbitrary<string>, sent?: fc.Arbitrary<object>): fc.Arbitrary<Entry> {
  const parts = fc.tuple(path, conditions, sent ?? fc.constant(undefined));
  return parts.map(([where, headers, given]) => ({
    method,
    path: where,
    ...(headers === undefined ? {} : { headers }),
    ...(given === undefined ? {} : { body: given }),
  }));
}

const created = fc.tuple(fc.constantFrom('a', 'e'), data).map(([id, own]) => ({ data: { ...own, id } }));
const anyEntry: fc.Arbitrary<Entry> = fc.oneof(
  { weight: 8, arbitrary: entry('PUT', records, body) },
  { weight: 4, arbitrary: entry('PATCH', records, body) },
  { weight: 5, arbitrary: entry('DELETE', records) },
  { weight: 2, arbitrary: entry('GET', records) },
  { weight: 2, arbitrary: entry('GET', fc.constant(`${collection}/records`)) },
  { weight: 1, arbitrary: entry('POST', fc.constant(`${collection}/records`), created) },
  { weight: 1, arbitrary: entry('DELETE', fc.constant(`${collection}/records?n=1`)) },
  { weight: 1, arbitrary: entry('DELETE', fc.constant(collection)) },
  { weight: 2, arbitrary: entry('PUT', fc.constant(collection), fc.constant({ data: {} })) },
);
const anyBatch = fc.record({
  user: fc.constantFrom(...users),
  requests: fc.array(anyEntry, { minLength: 2, maxLength: 25, size: 'max' }),
});
const anyBatches = fc.array(anyBatch, { minLength: 1, maxLength: 4, size: 'max' });

/** Returns the value with principals, which have no order, in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.every((each) => typeof each === 'string') ? value.toSorted() : value.map(sorted);
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, sorted(each)]));
}

const settings = { includes: 'history', history_read_principals: 'system.Everyone' };

/** Returns the entry with an ETag in place of the age. */
function atTime({ headers, ...others }: Entry, newest: number): Entry {
  const age = headers?.['If-Match'];
  if (headers === undefined) return others;
  return { ...others, headers: age === undefined ? headers : { 'If-Match': `"${newest + 10 - Number(age)}"` } };
}

async function prepare(service: TestService, round: number): Promise<void> {
  const owner = service.asUser('alice');
  if (round > 0) await owner.request('DELETE', '/v1/buckets');
  const permissionsOfBucket = { 'collection:create': ['system.Authenticated'] };
  await owner.request('PUT', `/v1${bucket}`, { body: { permissions: permissionsOfBucket } });
  const create = { 'record:create': ['system.Authenticated'] };
  await owner.request('PUT', `/v1${collection}`, { body: { permissions: create } });
}

describe.each(allBackends.filter(({ name }) => name !== 'memory'))('batches of writes on $name', (backend) => {
  const clock = createTestClock(start);
  let own: TestService;
  let memory: TestService;

  beforeAll(async () => {
    memory = await startTestService({ settings, clock });
    own = await backend.start({ settings, clock });
  });
  afterAll(async () => {
    await own.close();
    await memory.close();
  });

  it('have the responses that they have in memory.', { timeout: 120_000 }, async () => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(anyBatches, async (batches) => {
        for (const service of [memory, own]) await prepare(service, round);
        round++;
        let newest = clock.now();
        for (const { user, requests: given } of batches) {
          const requests = given.map((each) => atTime(each, newest));
          const answer = async (service: TestService): Promise<unknown> => {
            const { status, body: answered } = await service.request('POST', '/v1/batch', {
              auth: user,
              body: { requests },
            });
            const list = await service.request('GET', `/v1${collection}/records`, { auth: 'alice' });
            return sorted({ status, answered, list: list.body });
          };
          expect(await answer(own)).toEqual(await answer(memory));
          const { headers } = await memory.request('GET', `/v1${collection}/records`, { auth: 'alice' });
          newest = Number((headers['etag'] ?? '').replaceAll('"', ''));
          clock.advance(1);
        }
      }),
      { numRuns: runs },
    );
  });
});
