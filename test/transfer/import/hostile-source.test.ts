// Imports from servers with data that no request could store here, and from servers that never end: nothing of it makes a list
// unusable, and each problem is named.
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { inUnit } from '../../../src/maintenance/units.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { latestImportedTimestamp } from '../../../src/core/objects/timestamps.ts';
import { isSameServer } from '../../../src/transfer/import/transport.ts';
import { between, recordList, shown, textOf, withRecords, type Ends } from './odd-ends.ts';
import type { Odd, OddOptions } from './odd-source.ts';

const path = 'buckets/b/collections/c/records';

async function clockOf({ target }: Ends): Promise<number | undefined> {
  const lists = await target.storage.reader.lists(undefined, 10);
  return lists.find(({ kind }) => kind === 'record')?.timestamp;
}

function withEtag(etag: string, records: readonly string[]): OddOptions {
  const options = withRecords(records);
  return { ...options, lists: { ...options.lists, [path]: { entries: records, etag } } };
}

describe('a clock that cannot be stored', () => {
  test.each(['9007199254740991', String(latestImportedTimestamp + 1), '9'.repeat(23), '9'.repeat(400)])(
    'such as %s is reported, and the newest object determines the clock',
    async (etag) => {
      const ends = await between(
        withEtag(etag, ['{"id":"old","last_modified":3000}', '{"id":"new","last_modified":3001}']),
      );
      const problems = [expect.stringMatching(/^\/buckets\/b\/collections\/c\/records: the clock of the list/)];
      for (const mode of ['refuse', 'resume', 'verify'] as const) {
        expect(await ends.run({ mode })).toMatchObject({ isEqual: true, problems });
        expect(await clockOf(ends)).toBe(3001);
      }
      await inUnit(ends.target.storage.database, (transaction) =>
        ends.target.storage.writer(transaction).create(recordList, 'later', '{}'),
      );
      expect(await textOf(ends, 'later')).toBe('{}');
    },
  );

  test('of a list without objects leaves the list at the start', async () => {
    const ends = await between(withEtag('9007199254740991', []));
    expect(await ends.run()).toMatchObject({
      isEqual: true,
      problems: [expect.stringContaining('the clock of the list')],
    });
    expect(await clockOf(ends)).toBe(0);
  });

  test('and an object with such a timestamp are both reported', async () => {
    const ends = await between(
      withEtag('9007199254740991', [
        '{"id":"ok","last_modified":3000}',
        '{"id":"evil","last_modified":9007199254740991}',
      ]),
    );
    const { problems } = await ends.run();
    expect(problems).toEqual([
      expect.stringContaining('records/evil cannot be stored: its last_modified is not a timestamp'),
      expect.stringContaining('records: the clock of the list'),
    ]);
    expect(await clockOf(ends)).toBe(3000);
  });
});

test('an object nested very deep is named, and the objects around it keep their digits.', async () => {
  const nested = '{"a":'.repeat(50_000) + '1' + '}'.repeat(50_000);
  const ends = await between(
    withRecords([
      '{"n":1.10,"id":"one","last_modified":3000}',
      `{"x":${nested},"id":"deep","last_modified":3001}`,
      '{"n":12345678901234567890,"id":"two","last_modified":3002}',
    ]),
  );
  expect((await ends.run()).problems).toEqual([expect.stringMatching(/records\/deep cannot be stored: .*518/)]);
  expect(await textOf(ends, 'one')).toBe('{"n":1.10}');
  expect(await textOf(ends, 'two')).toBe('{"n":12345678901234567890}');
});

test('history entries that cannot be stored are reported one by one.', async () => {
  const options = withRecords([]);
  const entries = [
    '{"uri":"/buckets/b","n":12345678901234567890,"id":"fine","last_modified":1001}',
    '{"uri":"/buckets/b","x":"\\u0000","id":"null","last_modified":1002}',
    '{"uri":"/buckets/b","x":{"y":"\\ud800"},"id":"half","last_modified":1003}',
    '{"uri":"/buckets/b","x":1e999,"id":"large","last_modified":1004}',
    `{"uri":"/buckets/b","x":${'['.repeat(3000)}${']'.repeat(3000)},"id":"deep","last_modified":1005}`,
  ];
  const lists = { ...options.lists, 'buckets/b/history': { entries } };
  const ends = await between({ ...options, lists, root: { capabilities: { history: {} } } });
  expect((await ends.run({ withHistory: true })).problems).toEqual([
    expect.stringMatching(/history\/deep cannot be stored: .*518/),
    expect.stringMatching(/history\/half cannot be stored: null characters and lone surrogates .*\(x\.y\)/),
    expect.stringMatching(/history\/large cannot be stored: number out of range/),
    expect.stringMatching(/history\/null cannot be stored: null characters .*\(x\)/),
  ]);
  const { reader } = ends.target.storage;
  const key = { kind: 'history', parent: storedParent('/buckets/b/history') };
  expect((await reader.get(key, 'fine'))?.text).toBe('{"uri":"/buckets/b","n":12345678901234567890}');
  expect(await reader.countAll(key, { filters: [] })).toBe(1);
});

test('accounts that cannot be stored are reported, and all others imported.', async () => {
  const password = '"password":"$2b$12$abcdefghijklmnopqrstuuJ1jz9YzYQ0z1x2y3w4v5u6t7s8r9q0p"';
  const accounts = [
    `{${password},"id":"before","last_modified":-5}`,
    `{${password},"id":"fine","last_modified":5}`,
    `{${password},"id":"../buckets/b","last_modified":6}`,
    `{${password},"x":"\\u0000","id":"null","last_modified":7}`,
    `{${password},"id":"late","last_modified":9007199254740991}`,
  ];
  const ends = await between({
    ...withRecords([]),
    root: { capabilities: { accounts: {} } },
    interfere: ({ url }) => (url.pathname === '/v1/accounts' ? { text: `{"data":[${accounts.join(',')}]}` } : true),
  });
  expect((await ends.run()).problems).toEqual([
    expect.stringContaining('/accounts/../buckets/b cannot be stored: its id'),
    expect.stringContaining('/accounts/before cannot be stored: its last_modified is negative'),
    expect.stringContaining('/accounts/late cannot be stored: its last_modified is not'),
    expect.stringContaining('/accounts/null cannot be stored: null characters'),
  ]);
  const lists = await ends.target.storage.reader.lists(undefined, 10);
  expect(lists.find(({ kind }) => kind === 'account')).toMatchObject({ timestamp: 5, live: 1 });
});

describe('what the API of the target would refuse', () => {
  const list = (...entries: string[]): { entries: string[] } => ({ entries });
  const entry = (id: string, more = ''): string => `{"id":"${id}","last_modified":${1000 + id.length}${more}}`;

  test('is imported and noted with a count and the first names', async () => {
    const ids = ['b', '__', 'b c', 'é123', '-12345', '-234567', '-2345678'];
    const records = ['{"id":"r.dot","last_modified":3000}', '{"id":"r1","last_modified":3001}'];
    const options = withRecords(records);
    const ends = await between({
      ...options,
      lists: { ...options.lists, buckets: list(...ids.map((id) => entry(id))) },
      objects: {
        ...options.objects,
        'buckets/b': shown(entry('b')),
        [`${path}/r1`]: shown(records[1]!, '{"write":["someone"],"absurd":["x"],"record:create":["y"]}'),
      },
      interfere({ method, url }) {
        const [, , bucket, plural] = url.pathname.split('/').slice(1);
        if (plural !== undefined && bucket !== 'b')
          return { headers: { ETag: '"9000"' }, text: method === 'HEAD' ? '' : '{"data":[]}' };
        return true;
      },
    });
    const { notes, problems } = await ends.run({ mode: 'refuse' });
    expect(problems).toEqual([]);
    expect(notes).toEqual([
      expect.stringMatching(
        /^7 imported objects have ids that this configuration does not accept.*: \/buckets\/__, \/buckets\/b c, \/buckets\/é123, .*, …$/,
      ),
      expect.stringMatching(/^1 imported object has permissions with unknown names.*: .*\/records\/r1$/),
    ]);
    expect(await textOf(ends, 'r.dot')).toBe('{}');
  });

  test('as members of groups is noted, and gives no membership', async () => {
    const groups = [
      entry('g', ',"members":["system.Everyone","account:bob","system.Authenticated"]'),
      entry('gg', ',"members":["/buckets/b/groups/g","",5,"account:bob"]'),
      entry('ggg', ',"members":"account:bob"'),
      entry('gggg', ',"members":["account:bob"]'),
    ];
    const options = withRecords([]);
    const objects = groups.map((text) => [`buckets/b/groups/${/g+/.exec(text)![0]}`, shown(text)] as const);
    const ends = await between({
      ...options,
      lists: { ...options.lists, 'buckets/b/groups': list(...groups) },
      objects: { ...options.objects, ...Object.fromEntries(objects) },
    });
    const { isEqual, notes } = await ends.run();
    expect(isEqual).toBe(true);
    expect(notes).toEqual([
      expect.stringMatching(/^3 imported objects have members .*: \/buckets\/b\/groups\/g, .*gg, .*ggg$/),
    ]);
    const { found: items } = await ends.target.permission.reader.memberships(undefined, 100);
    const found = new Map(items.map(({ userId, principals }) => [userId, principals.toSorted()]));
    const [g, gg, gggg] = ['g', 'gg', 'gggg'].map((id) => `/buckets/b/groups/${id}`);
    expect(Object.fromEntries(found)).toEqual({ 'account:bob': [g, gg, gggg], 'system.Authenticated': [g] });
  });
});

describe('a redirect', () => {
  const redirectTo = (location: string): OddOptions => ({
    lists: {},
    interfere: () => ({ status: 307, headers: { Location: location } }),
  });

  test('to another port of the host is not followed', async () => {
    const asked: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      asked.push(request.headers.authorization);
      response.end('{}');
    });
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const ends = await between(redirectTo(`http://127.0.0.1:${port}/v1/`), {
      headers: { authorization: 'Basic YTpi' },
    });
    await expect(ends.run()).rejects.toThrow(`redirects to http://127.0.0.1:${port}; if that is intended, use`);
    expect(asked).toEqual([]);
  });

  test.each([
    ['https://127.0.0.1/v1/', /redirects to https:\/\/127\.0\.0\.1; if/],
    ['http://[bad', /redirects to http:\/\/\[bad, which is not a URL/],
    ['ftp://127.0.0.1/x', /redirects to ftp:\/\/127\.0\.0\.1; if/],
    ['file:///etc/passwd', /redirects to file:\/\/; if/],
  ])('to %s is refused', async (location, message) => {
    await expect((await between(redirectTo(location))).run()).rejects.toThrow(message);
  });

  test.each([
    ['http://a.example/v1/', 'https://a.example/v1/', true],
    ['http://a.example/v1/', 'https://a.example:443/v1/', true],
    ['http://a.example:8888/v1/', 'https://a.example/v1/', false],
    ['http://a.example/v1/', 'https://a.example:8443/v1/', false],
    ['http://a.example/v1/', 'https://b.example/v1/', false],
    ['https://a.example/v1/', 'http://a.example/v1/', false],
    ['https://a.example:8443/v1/', 'https://a.example:8443/v2/', true],
    ['https://a.example/v1/', 'https://a.example:8443/v1/', false],
  ])('from %s to %s may carry credentials: %s', (from, to, expected) => {
    expect(isSameServer(new URL(from), new URL(to))).toBe(expected);
  });

  test('to another path of the same server is followed', async () => {
    const options = withRecords(['{"id":"one","last_modified":3000}']);
    const ends = await between({
      ...options,
      interfere: ({ url }) =>
        url.pathname === '/v1/buckets' && url.search !== '' && !url.searchParams.has('again')
          ? { status: 307, headers: { Location: `${url.search}&again=1` } }
          : true,
    });
    expect(await ends.run()).toMatchObject({ isEqual: true });
  });
});

describe('a source without end', () => {
  const pagesOf = (page: (count: number) => Odd): OddOptions => {
    let count = 0;
    return {
      ...withRecords([]),
      interfere({ method, url }) {
        if (method !== 'GET' || url.pathname !== '/v1/buckets') return true;
        const { headers, text } = page(++count);
        return { headers: { ETag: '"9000"', ...headers }, text: text ?? '{"data":[]}' };
      },
    };
  };
  const next = (token: number | string): Readonly<Record<string, string>> => ({
    'Next-Page': `/v1/buckets?tok=${token}`,
  });

  test.each<readonly [string, (count: number) => Odd, RegExp]>([
    ['empty pages', (count) => ({ headers: next(count) }), /^\/buckets: .* has a page without new entries/],
    [
      'the same page',
      () => ({ headers: next(1), text: '{"data":[{"id":"x","last_modified":5}]}' }),
      /^\/buckets: .* has a page without new entries/,
    ],
    [
      'two pages in turn',
      (count) => ({ headers: next(count % 2), text: '{"data":[{"id":"x","last_modified":5}]}' }),
      /^\/buckets: .* has a page without new entries/,
    ],
    [
      'the same entries at other addresses',
      (count) => ({
        headers: next(count),
        text: `{"data":[{"id":"${count % 3}","last_modified":5},{"id":"x","last_modified":5}]}`,
      }),
      /^\/buckets: .* has a page without new entries/,
    ],
    [
      'older and older entries',
      (count) => ({ headers: next(count), text: `{"data":[{"id":"x","last_modified":${-count}}]}` }),
      /^\/buckets: .* has a page without new entries/,
    ],
    [
      'entries without timestamps',
      (count) => ({ headers: next(count), text: '{"data":[{"id":"x","last_modified":"now"}]}' }),
      /^\/buckets: .* has a page without new entries/,
    ],
    [
      'a malformed Next-Page',
      () => ({ headers: { 'Next-Page': 'http://[bad' } }),
      /^\/buckets: .* not a URL: http:\/\/\[bad/,
    ],
    [
      'very long headers',
      () => ({ headers: { 'X-Big': 'a'.repeat(30_000) } }),
      /buckets.*: the headers of the response are too long/,
    ],
    ['too many values', () => ({ text: `{"data":[${'0,'.repeat(10_000_001)}0]}` }), /more than 10000000 JSON values/],
    ['an object without id', () => ({ text: '{"data":[{"last_modified":1}]}' }), /^\/buckets: .* an object without id/],
    ['items that are not objects', () => ({ text: '{"data":[5]}' }), /^\/buckets: an item of `data` is not an object/],
    ['no list', () => ({ text: '{"data":5}' }), /^\/buckets: the response has no array `data`/],
  ])('that sends %s is refused', async (_what, page, message) => {
    await expect((await between(pagesOf(page))).run()).rejects.toThrow(message);
  });

  test('that sends accounts page after page is refused', async () => {
    let count = 0;
    const ends = await between({
      ...withRecords([]),
      root: { capabilities: { accounts: {} } },
      interfere: ({ url }) =>
        url.pathname === '/v1/accounts'
          ? { headers: { 'Next-Page': `/v1/accounts?tok=${++count}` }, text: '{"data":[]}' }
          : true,
    });
    await expect(ends.run()).rejects.toThrow(/^\/accounts: .* has a page without new entries/);
  });

  test('that never ends one response is refused after the maximum time', async () => {
    const hanging: Odd = { hangs: true, headers: { 'Content-Length': '100' }, text: '{"http_api_version":"1"}' };
    const ends = await between({ lists: {}, interfere: () => hanging }, { maxResponseMs: 1000 });
    await expect(ends.run()).rejects.toThrow(/^GET http.*\/v1\/: the response is not complete after 1 s/);
    expect(ends.source.requests).toHaveLength(1);
  });
});
