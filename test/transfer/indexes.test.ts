// Declared indexes travel with their collections by copies, exports and imports, which build them. An attribute
// with the same name and another meaning stays plain data.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { settingsOf } from '../../src/backends/load-settings.ts';
import { openStores } from '../../src/backends/open-backends.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import { readStates } from '../../src/engine/index-states.ts';
import type { OpenStores } from '../../src/contracts/open-backends.ts';
import { inUnit } from '../../src/maintenance/units.ts';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { copyBetween } from '../../src/transfer/copy/copy.ts';
import { exportStores, importStores } from '../../src/transfer/export/export.ts';
import { importInto, type ImportResult } from '../../src/transfer/import/import.ts';
import { databaseSettings } from '../support/backends.ts';
import { cloneDatabase } from '../support/postgresql.ts';
import { openTestServer } from '../support/redis.ts';
import { sourceOf } from './import/source-data.ts';

type Values = Readonly<Record<string, string>>;

const secret = { userid_hmac_secret: 'secret for tests' };
const collection = '/v1/buckets/b/collections/c';
const declared = [{ fields: ['n', '-m'] }, { fields: ['email'], unique: true }, { text: ['title'] }];
const count = 250;

const folder = mkdtempSync(join(tmpdir(), 'coffer-indexes-'));
const cleanUps: (() => unknown)[] = [() => rmSync(folder, { recursive: true })];
afterAll(async () => {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp();
});

function newFile(): Values {
  return {
    ...secret,
    ...databaseSettings('sqlite', join(folder, `${randomUUID()}.sqlite3`)),
    sqlite_synchronous: 'OFF',
  };
}

const places: Readonly<Record<string, () => Promise<Values>>> = {
  sqlite: () => Promise.resolve(newFile()),
  async postgresql() {
    const { url, drop } = await cloneDatabase();
    cleanUps.push(drop);
    return { ...secret, ...databaseSettings('postgresql', url) };
  },
  async redis() {
    const { url, close } = await openTestServer();
    cleanUps.push(close);
    return { ...secret, ...databaseSettings('redis', url), redis_prefix: `test-${randomUUID()}:` };
  },
};

async function within<T>(values: Values, work: (stores: OpenStores) => Promise<T>): Promise<T> {
  const stores = await openStores(settingsOf(values), systemClock);
  try {
    for (const database of stores.databases) await database.initializeSchema({ dryRun: false });
    return await work(stores);
  } finally {
    await stores.close();
  }
}

/** The ways from one place to another. */
const ways: Readonly<Record<string, (from: Values, to: Values) => Promise<unknown>>> = {
  'a copy': (from, to) =>
    within(from, (source) => within(to, (target) => copyBetween(source, target, { mode: 'refuse' }))),
  async 'an export'(from, to) {
    const file = join(folder, `${randomUUID()}.ndjson.gz`);
    await within(from, (source) => exportStores(source, file));
    await within(to, (target) => importStores(file, target, { mode: 'refuse' }));
  },
  'an import': (from, to) => importFrom(from, to, 'refuse'),
};

/** Imports what a service on the source shows. */
async function importFrom(from: Values, to: Values, mode: 'refuse' | 'resume'): Promise<ImportResult> {
  const source = await startTestService({ settings: from });
  try {
    return await within(to, (target) => importInto(target, settingsOf(to), { from: sourceOf(source), mode }));
  } finally {
    await source.close();
  }
}

interface Report {
  readonly state: string;
}

/** Runs work with a service whose indexes of the collection are complete. */
async function whenReady(values: Values, work: (service: TestService) => Promise<void>): Promise<void> {
  const service = await startTestService({ settings: values });
  try {
    const states = async (): Promise<readonly string[]> => {
      const { body } = await service.request('GET', `${collection}/indexes`, { auth: 'alice' });
      return (body as { data: Report[] }).data.map(({ state }) => state);
    };
    await expect.poll(states, { timeout: 30_000 }).toEqual(declared.map(() => 'ready'));
    await work(service);
  } finally {
    await service.close();
  }
}

async function find(service: TestService, query: string): Promise<{ readonly plan: string; readonly total: number }> {
  const path = `${collection}/records?_explain=true&_limit=1&${query}`;
  const { headers } = await service.request('GET', path, { auth: 'alice' });
  const head = await service.request('HEAD', `${collection}/records?${query}`, { auth: 'alice' });
  return {
    plan: decodeURIComponent(headers['query-plan']!.split(';')[0]!),
    total: Number(head.headers['total-objects']),
  };
}

let source: Values;

beforeEach(async () => {
  source = newFile();
  const service = await startTestService({ settings: source });
  const alice = service.asUser('alice');
  await alice.request('PUT', '/v1/buckets/b');
  await alice.request('PUT', collection, { body: { data: { indexes: declared } } });
  const requests = Array.from({ length: count }, (_, n) => ({
    method: 'PUT',
    path: `${collection}/records/r${n}`,
    body: { data: { n: n % 5, m: n, email: `${n}@x`, title: `digit${n % 5}` } },
  }));
  for (let start = 0; start < count; start += 25) {
    await alice.request('POST', '/v1/batch', { body: { requests: requests.slice(start, start + 25) } });
  }
  await service.close();
});

describe.each(Object.keys(places))('to %s', (place) => {
  it.each(Object.keys(ways))(
    '%s carries the declaration and builds it, so a service enforces it from the start',
    { timeout: 60_000 },
    async (way) => {
      const target = await places[place]!();
      await ways[way]!(source, target);
      await within(target, async ({ storage }) => {
        const list = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
        const { indexes, work } = await readStates(storage.reader, list);
        expect([indexes.map(({ status }) => status), work]).toEqual([declared.map(() => 'ready'), undefined]);
      });
      await whenReady(target, async (service) => {
        expect(await find(service, 'n=3')).toEqual({ plan: 'index=n,-m', total: count / 5 });
        expect(await find(service, 'email=7@x')).toEqual({ plan: 'index=email', total: 1 });
        if (place !== 'redis')
          expect(await find(service, '_q=digit2')).toEqual({ plan: 'index=text(title)', total: count / 5 });
        const again = { auth: 'alice', body: { data: { email: '7@x' } } };
        expect((await service.request('POST', `${collection}/records`, again)).status).toBe(409);
      });
    },
  );
});

describe('into a store with an earlier copy', () => {
  const resumptions: Readonly<Record<string, (to: Values) => Promise<unknown>>> = {
    'a copy': (to) => within(source, (from) => within(to, (target) => copyBetween(from, target, { mode: 'resume' }))),
    'an import': (to) => importFrom(source, to, 'resume'),
  };

  it.each(Object.keys(resumptions))('%s leaves no keys of values that changed', { timeout: 60_000 }, async (way) => {
    const target = newFile();
    await ways[way]!(source, target);
    await whenReady(target, async () => undefined);
    await whenReady(source, async (service) => {
      const alice = service.asUser('alice');
      await alice.request('PATCH', `${collection}/records/r3`, {
        body: { data: { n: 7, email: 'new', title: 'other' } },
      });
      await alice.request('DELETE', `${collection}/records/r8`);
    });
    await resumptions[way]!(target);
    await whenReady(target, async (service) => {
      expect(await find(service, 'n=3')).toEqual({ plan: 'index=n,-m', total: count / 5 - 2 });
      expect(await find(service, 'n=7')).toEqual({ plan: 'index=n,-m', total: 1 });
      expect(await find(service, 'email=3@x')).toEqual({ plan: 'index=email', total: 0 });
      expect(await find(service, '_q=digit3')).toEqual({ plan: 'index=text(title)', total: count / 5 - 2 });
    });
  });
});

describe('an attribute indexes with another meaning', () => {
  const meanings = ['the last pages', 7, { author: 3 }, [{ fields: ['n'], kind: 'hash' }], ['name']];
  const uriOf = (number: number): string => `/buckets/b/collections/old${number}`;

  it('stays plain data, is reported by the import, and can be kept by writes', { timeout: 60_000 }, async () => {
    await within(source, ({ storage }) =>
      inUnit(storage.database, async (transaction) => {
        const writer = storage.writer(transaction);
        for (const [number, indexes] of meanings.entries()) {
          const list = { kind: 'collection', parent: storedParent('/buckets/b') };
          await writer.create(list, `old${number}`, JSON.stringify({ indexes }));
        }
        // No indexes are a declaration as well, and no reason for a note.
        await writer.create({ kind: 'collection', parent: storedParent('/buckets/b') }, 'none', '{"indexes":[]}');
      }),
    );
    const target = newFile();
    const result = await importFrom(source, target, 'refuse');
    expect(result).toMatchObject({ isEqual: true, problems: [] });
    expect(result.notes).toEqual(
      meanings.map(
        (_, number) => `${uriOf(number)}: the attribute indexes declares no indexes, and was imported as plain data`,
      ),
    );
    await whenReady(target, async (service) => {
      const alice = service.asUser('alice');
      for (const [number, indexes] of meanings.entries()) {
        const path = `/v1${uriOf(number)}`;
        expect((await alice.request('GET', path)).body).toMatchObject({ data: { indexes } });
        expect((await alice.request('GET', `${path}/indexes`)).body).toEqual({ data: [] });
        await alice.request('PUT', `${path}/records/a`, { body: { data: { n: 1 } } });
        expect((await alice.request('GET', `${path}/records?n=1`)).body).toMatchObject({ data: [{ id: 'a' }] });
        expect((await alice.request('PATCH', path, { body: { data: { more: true } } })).status).toBe(200);
        expect((await alice.request('PATCH', path, { body: { data: { indexes: 'changed' } } })).status).toBe(400);
      }
    });
  });
});
