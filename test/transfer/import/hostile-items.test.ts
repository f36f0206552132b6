// Imports of accounts that share timestamps, and of items that are no objects of the protocol.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { latestImportedTimestamp } from '../../../src/core/objects/timestamps.ts';
import { exportStores, importStores } from '../../../src/transfer/export/export.ts';
import { between, withRecords } from './odd-ends.ts';
import type { OddOptions } from './odd-source.ts';

/** A source of accounts with these timestamps, with the ids u0, u1 and so on. */
function withAccounts(timestamps: readonly number[]): OddOptions {
  const password = '"password":"$2b$12$abcdefghijklmnopqrstuuJ1jz9YzYQ0z1x2y3w4v5u6t7s8r9q0p"';
  const accounts = timestamps.map((timestamp, n) => `{${password},"id":"u${n}","last_modified":${timestamp}}`);
  return {
    ...withRecords([]),
    root: { capabilities: { accounts: {} } },
    interfere: ({ url }) => (url.pathname === '/v1/accounts' ? { text: `{"data":[${accounts.join(',')}]}` } : true),
  };
}

test('accounts that share the latest timestamp are reported but for the first, and the export can be imported.', async () => {
  const timestamps = [latestImportedTimestamp - 1, ...Array.from({ length: 3 }, () => latestImportedTimestamp - 1)];
  const ends = await between(withAccounts(timestamps));
  const problem = /cannot be stored: other accounts have all timestamps from 4504699138998271 to 4504699138998272/;
  for (const mode of ['refuse', 'resume'] as const) {
    const { isEqual, problems } = await ends.run({ mode });
    expect([isEqual, problems]).toEqual([true, ['u2', 'u3'].map((id) => expect.stringMatching(`^/accounts/${id} `))]);
    expect(problems[0]).toMatch(problem);
  }
  const folder = mkdtempSync(join(tmpdir(), 'coffer-accounts-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  await exportStores(ends.target, join(folder, 'x.ndjson'));
  const again = await importStores(join(folder, 'x.ndjson'), ends.target, { mode: 'empty', verifies: true });
  expect(again.differences).toEqual([]);
});

test('the work for accounts with few timestamps grows with their number only.', async () => {
  const timestamps = Array.from({ length: 300 }, (_, n) => (n % 2 === 0 ? 5000 : 6000));
  const ends = await between(withAccounts(timestamps));
  const reads = vi.spyOn(ends.target.storage.reader, 'listAll');
  expect(await ends.run()).toMatchObject({ isEqual: true, problems: [] });
  expect(reads.mock.calls.length).toBeLessThan(2 * timestamps.length);
  const lists = await ends.target.storage.reader.lists(undefined, 10);
  expect(lists.find(({ kind }) => kind === 'account')).toMatchObject({ timestamp: 6149, live: 300 });
});

const manyLevels = '['.repeat(100_000) + ']'.repeat(100_000);

/** A source whose list of buckets has this item only. */
const withItem = (item: string): OddOptions => ({
  ...withRecords([]),
  interfere: ({ method, url }) =>
    method === 'GET' && url.pathname === '/v1/buckets'
      ? { headers: { ETag: '"9000"' }, text: `{"data":[${item}]}` }
      : true,
});

test.each([
  ['{"id":{"toString":1},"last_modified":1,"x":1e999}', 'the response has an object without id'],
  [`{"id":${manyLevels},"last_modified":1}`, 'the response has an object without id'],
  ['"\\u0000"', 'an item of `data` is not an object'],
])('an item such as %.50s is refused in words', async (item, message) => {
  await expect((await between(withItem(item))).run()).rejects.toThrow(`/buckets: ${message}`);
});

test.each(['{"toString":1}', '{"toString":1},"x":1e999', manyLevels])(
  'an object whose timestamp is %.20s is reported',
  async (timestamp) => {
    const { problems } = await (await between(withItem(`{"id":"odd","last_modified":${timestamp}}`))).run();
    expect(problems).toEqual([expect.stringContaining('/buckets/odd cannot be stored: ')]);
  },
);
