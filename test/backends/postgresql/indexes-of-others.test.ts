// Indexes that one process declares while another one remembers those before: its pages are in the order of the query.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestService, type TestResponse, type TestService } from '../../../src/testing/index.ts';
import { postgresqlSettings } from '../../support/backends.ts';
import { cloneDatabase } from '../../support/postgresql.ts';

const collection = '/v1/buckets/b/collections/c';
const records = `${collection}/records`;
let drop: () => Promise<void>;
let here: TestService;
let elsewhere: TestService;

beforeAll(async () => {
  const database = await cloneDatabase();
  ({ drop } = database);
  const start = (): Promise<TestService> => startTestService({ settings: postgresqlSettings(database.url) });
  [here, elsewhere] = [await start(), await start()];
  await here.request('PUT', '/v1/buckets/b', { auth: 'alice' });
  await here.request('PUT', collection, { auth: 'alice' });
});
afterAll(async () => {
  await here.close();
  await elsewhere.close();
  await drop();
});

async function declare(service: TestService, field: string): Promise<void> {
  const send = (method: string, path: string, body?: unknown): Promise<TestResponse> =>
    service.request(method, path, { auth: 'alice', body });
  expect((await send('PATCH', collection, { data: { indexes: [{ fields: [field] }] } })).status).toBe(200);
  await expect.poll(async () => (await send('GET', `${collection}/indexes`)).text).toContain('"state":"ready"');
}

async function idsBy(sort: string): Promise<readonly string[]> {
  const { body } = await here.request('GET', `${records}?_sort=${sort}`, { auth: 'alice' });
  return (body as { readonly data: readonly { readonly id: string }[] }).data.map(({ id }) => id);
}

it('are not taken for those that a process remembers', async () => {
  const upwards = Array.from({ length: 20 }, (_, n) => `r${n + 10}`);
  for (const [n, id] of upwards.entries()) {
    await here.request('PUT', `${records}/${id}`, { auth: 'alice', body: { data: { a: n, b: -n } } });
  }
  for (let round = 0; round < 4; round++) {
    await declare(here, 'a');
    // Twice: the first query looks whether the index is complete.
    for (let n = 0; n < 2; n++) expect(await idsBy('a')).toEqual(upwards);
    await declare(elsewhere, 'b');
    expect(await idsBy('a')).toEqual(upwards);
    expect(await idsBy('b')).toEqual(upwards.toReversed());
  }
});
