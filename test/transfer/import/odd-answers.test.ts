// Imports from servers that fail, ask to wait, break off, hide things, or hold what cannot be kept.
import { expect, test } from 'vitest';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { between, recordList, shown, textOf, withRecords } from './odd-ends.ts';

test('a request to a busy server is repeated at the requested time, and an aborted one at once.', async () => {
  const asked = new Map<string, number>();
  const answers = [
    { status: 503, headers: { 'Retry-After': '3' } },
    { status: 429, headers: { 'Retry-After': new Date(Date.now() + 20_000).toUTCString() } },
    { status: 502 },
    { text: '{"data":[{"id":"one","last_mod', headers: { ETag: '"1"' } },
    { text: 'x'.repeat(1000), breaksOff: true },
    { switches: true },
  ];
  const ends = await between(
    withRecords(['{"n":1,"id":"one","last_modified":3000}'], {
      interfere({ method, url }) {
        const turn = asked.get(url.pathname) ?? 0;
        if (!url.pathname.endsWith('/records') || method !== 'GET') return true;
        asked.set(url.pathname, turn + 1);
        return answers[turn] ?? true;
      },
    }),
  );
  expect(await ends.run()).toMatchObject({ isEqual: true, problems: [], unseen: [] });
  expect(await textOf(ends, 'one')).toBe('{"n":1}');
  expect(ends.waits).toHaveLength(6);
  expect(ends.waits[0]).toBe(3000);
  expect(ends.waits[1]).toBeGreaterThan(15_000);
  expect(ends.waits[2]).toBeLessThan(3000);
});

test('a server that asks all clients to slow down gets no requests for that time.', async () => {
  const ends = await between(
    withRecords([], {
      interfere: ({ url }) =>
        url.pathname === '/v1/'
          ? { headers: { Backoff: '7' }, text: '{"http_api_version":"1.23","settings":{}}' }
          : true,
    }),
  );
  await ends.run();
  expect(ends.waits).toEqual([expect.any(Number)]);
  expect(ends.waits[0]).toBeGreaterThan(6000);
});

test('a server that never recovers ends the import with its name, and another run continues.', async () => {
  let isDown = true;
  const records = Array.from({ length: 30 }, (_, n) => `{"n":${n},"id":"r${n}","last_modified":${3000 + n}}`);
  const ends = await between(
    withRecords(records, {
      interfere: ({ url }) => (isDown && url.pathname.endsWith('/records') ? { status: 500 } : true),
    }),
  );
  await expect(ends.run()).rejects.toThrow(/HEAD http:.*records: answered 500, 8 times/);
  isDown = false;
  expect(await ends.run({ mode: 'resume' })).toMatchObject({ isEqual: true });

  const before = ends.source.requests.length;
  expect(await ends.run({ mode: 'resume' })).toMatchObject({ isEqual: true });
  expect(ends.source.requests.slice(before)).toContainEqual(expect.stringContaining('records?_since=9000&'));
});

test('a server that has purged tombstones since the last run is read from the start, and followers learn of it.', async () => {
  const options = withRecords(['{"id":"kept","last_modified":3000}', '{"id":"gone","last_modified":3001}']);
  let isGone = false;
  const ends = await between({
    ...options,
    interfere({ url }) {
      if (isGone && url.pathname.endsWith('/gone')) return { status: 404, text: '{"errno":110}' };
      if (!url.searchParams.has('_since')) return true;
      return { status: 410, headers: { Resync: '"9001"' }, text: '{"errno":107}' };
    },
  });
  expect(await ends.run()).toMatchObject({ isEqual: true });
  const [list] = Object.entries(options.lists).find(([path]) => path.endsWith('records'))!;
  const horizon = async (): Promise<number | undefined> => {
    const states = await ends.target.storage.reader.lists(undefined, 10);
    return states.find(({ kind }) => kind === 'record')?.horizon;
  };
  expect(await horizon()).toBe(0);
  isGone = true;
  Object.assign(options.lists[list]!, { entries: ['{"id":"kept","last_modified":3000}'], etag: 9002 });
  expect(await ends.run({ mode: 'resume' })).toMatchObject({ isEqual: true });
  expect(await ends.target.storage.reader.get(recordList, 'gone')).toBeUndefined();
  // Followers of the target that know its state up to 9000 are informed of deletions without a tombstone.
  expect(await horizon()).toBe(9002);
});

test('permissions that are not shown are named, and found in the history where it has them.', async () => {
  const records = ['{"id":"one","last_modified":3000}', '{"id":"two","last_modified":3001}'];
  const options = withRecords(records);
  const path = 'buckets/b/collections/c/records';
  const objects = {
    ...options.objects,
    [`${path}/one`]: shown(records[0]!, '{}'),
    [`${path}/two`]: shown(records[1]!, '{}'),
  };
  const ends = await between({ ...options, objects });
  const uris = ['/buckets/b/collections/c/records/one', '/buckets/b/collections/c/records/two'];
  expect(await ends.run()).toMatchObject({ isEqual: true, unseen: uris });
  expect(await ends.target.permission.reader.getObjectsPermissions(uris.map(storedUri))).toEqual([{}, {}]);

  const entry = (uri: string, timestamp: number): string =>
    `{"id":"h","last_modified":5000,"uri":"${uri}","target":{"data":{"last_modified":${timestamp}},"permissions":{"read":["eve"]}}}`;
  const found = await between({
    ...options,
    objects,
    root: { capabilities: { history: {} } },
    interfere: ({ url }) => {
      if (url.pathname !== '/v1/buckets/b/history') return url.pathname === '/v1/batch' ? { status: 403 } : true;
      // The history of the second one has lost its last change.
      const isFirst = url.searchParams.get('uri') === JSON.stringify(uris[0]);
      return { text: `{"data":[${isFirst ? entry(uris[0]!, 3000) : entry(uris[1]!, 2999)}]}` };
    },
  });
  expect(await found.run()).toMatchObject({ isEqual: true, unseen: [uris[1]] });
  expect(await found.target.permission.reader.getObjectsPermissions(uris.map(storedUri))).toEqual([
    { read: ['eve'] },
    {},
  ]);
});

test('objects that cannot be stored are left out and reported, and all others keep every digit.', async () => {
  const ends = await between(
    withRecords([
      String.raw`{"text":"a\u0000b","id":"null","last_modified":3000}`,
      String.raw`{"text":"\ud83d","id":"half","last_modified":3001}`,
      '{"n":12345678901234567890,"__proto__":1,"id":"exact","last_modified":3002}',
      '{"id":"twin","last_modified":3002}',
      '{"id":"late","last_modified":99999999999999999999}',
      '{"deleted":true,"kept":1,"id":"marked","last_modified":3004}',
      '{"id":"dead","last_modified":3005,"deleted":true}',
    ]),
  );
  const { problems } = await ends.run();
  expect(problems).toEqual([
    expect.stringMatching(/records\/half cannot be stored: null characters and lone surrogates/),
    expect.stringMatching(/records\/late cannot be stored: its last_modified/),
    expect.stringMatching(/records\/null cannot be stored: null characters and lone surrogates/),
    expect.stringMatching(/records\/twin cannot be stored: it has the timestamp of exact/),
  ]);
  expect(await textOf(ends, 'exact')).toBe('{"n":12345678901234567890,"__proto__":1}');
  expect(await textOf(ends, 'marked')).toBe('{"kept":1}');
  const page = await ends.target.storage.reader.lists(undefined, 10);
  expect(page.find(({ kind }) => kind === 'record')).toMatchObject({ timestamp: 9000, live: 2, dead: 1 });
});

test('a redirect elsewhere is not followed with credentials.', async () => {
  const ends = await between({
    lists: {},
    interfere: () => ({ status: 307, headers: { Location: 'http://elsewhere.example/v1/' } }),
  });
  await expect(ends.run()).rejects.toThrow('redirects to http://elsewhere.example');
  expect(ends.source.requests).toHaveLength(1);
});

test.each([
  [{ text: '<html>' }, /not JSON, 8 times/],
  [{ text: '{"hello":"world"}' }, /is not the root of an API/],
  [{ status: 404, text: '{"message":"nothing here"}' }, /the root view: the source responded 404 \(nothing here\)/],
])('the root view %j is reported.', async (odd, message) => {
  const ends = await between({ lists: {}, interfere: () => odd });
  await expect(ends.run()).rejects.toThrow(message);
});

test('accounts are imported with their hashes and owners, and reported when the hash is not shown.', async () => {
  const hash = '$2b$12$abcdefghijklmnopqrstuuJ1jz9YzYQ0z1x2y3w4v5u6t7s8r9q0p';
  const accounts = [
    `{"password":"${hash}","id":"a@b.org","last_modified":5}`,
    `{"password":"${hash}","n":1.0,"id":"twin","last_modified":5}`,
    '{"password":"***","id":"x","last_modified":6}',
  ];
  const ends = await between({
    ...withRecords([]),
    root: { capabilities: { accounts: {} } },
    interfere: ({ url }) => (url.pathname === '/v1/accounts' ? { text: `{"data":[${accounts.join(',')}]}` } : true),
  });
  const left = [expect.stringContaining('/accounts/x was left out')];
  const list = { kind: 'account', parent: '' } as const;
  for (const mode of ['refuse', 'resume', 'verify'] as const) {
    expect(await ends.run({ mode })).toMatchObject({ isEqual: true, problems: left });
    const { reader } = ends.target.storage;
    expect(await reader.get(list, 'a@b.org')).toMatchObject({ text: `{"password":"${hash}"}`, lastModified: 5 });
    expect(await reader.get(list, 'twin')).toMatchObject({ text: `{"password":"${hash}","n":1.0}`, lastModified: 6 });
  }
  expect(await ends.target.permission.reader.getObjectPermissions(storedUri('/accounts/a@b.org'))).toEqual({
    write: ['account:a@b.org'],
  });
  // Changes in the target remain, and are reported.
  accounts[0] = `{"password":"${hash}","changed":true,"id":"a@b.org","last_modified":4}`;
  const { parts } = await ends.run({ mode: 'resume' });
  expect(parts.flatMap(({ differences }) => differences)).toEqual(['/accounts/a@b.org is different in the target']);
});

test('history entries are imported on request.', async () => {
  const options = withRecords([]);
  const entry = '{"uri":"/buckets/b","action":"create","id":"h1","last_modified":1001}';
  const lists = { ...options.lists, 'buckets/b/history': { entries: [entry] } };
  const ends = await between({ ...options, lists, root: { capabilities: { history: {} } } });
  expect(await ends.run({ withHistory: true })).toMatchObject({ isEqual: true, unseen: [], problems: [] });
  const stored = await ends.target.storage.reader.get(
    { kind: 'history', parent: storedParent('/buckets/b/history') },
    'h1',
  );
  expect(stored).toMatchObject({ text: '{"uri":"/buckets/b","action":"create"}', lastModified: 1001 });
});

test('a history that the user may not read is reported with the setting of the source, and all else is imported.', async () => {
  const options = withRecords(['{"id":"r","last_modified":3000}']);
  const account =
    '{"password":"$2b$04$abcdefghijklmnopqrstuuWC9zQqzqcnCiDzEJTFV7ux8jVVPQ1Vy","id":"ann","last_modified":1}';
  for (const status of [401, 403]) {
    const ends = await between({
      ...options,
      lists: { ...options.lists, accounts: { entries: [account] } },
      root: { capabilities: { history: {}, accounts: {} }, user: { id: 'account:admin' } },
      interfere: ({ url }) => (url.pathname.endsWith('/history') ? { status, text: '{"message":"not yours"}' } : true),
    });
    for (const mode of ['refuse', 'resume', 'verify'] as const) {
      const { isEqual, unseen, problems } = await ends.run({ mode, withHistory: true });
      expect([isEqual, unseen, problems]).toEqual([
        true,
        [],
        [
          '/buckets/b/history: the source does not show it to this user; set kinto.history_read_principals = account:admin there',
        ],
      ]);
    }
    expect(await textOf(ends, 'r')).toBe('{}');
    const accounts = { kind: 'account', parent: '' } as const;
    expect(await ends.target.storage.reader.get(accounts, 'ann')).toMatchObject({ lastModified: 1 });
  }
});

test('a group that the source stores without members gets an empty list of them.', async () => {
  const options = withRecords([]);
  const groups = [
    '{"id":"g","last_modified":1,"n":12345678901234567890}',
    '{"id":"h","last_modified":2,"members":["a"]}',
  ];
  const ends = await between({
    ...options,
    lists: {
      ...options.lists,
      'buckets/b/groups': { entries: [...groups, '{"id":"i","last_modified":3,"deleted":true}'] },
    },
    objects: { ...options.objects, 'buckets/b/groups/g': shown(groups[0]!), 'buckets/b/groups/h': shown(groups[1]!) },
  });
  for (const mode of ['refuse', 'verify'] as const) expect(await ends.run({ mode })).toMatchObject({ isEqual: true });
  const list = { kind: 'group', parent: storedParent('/buckets/b') };
  const texts = await Promise.all(
    ['g', 'h', 'i'].map(async (id) => (await ends.target.storage.reader.get(list, id))?.text),
  );
  expect(texts).toEqual(['{"n":12345678901234567890,"members":[]}', '{"members":["a"]}', undefined]);
});
