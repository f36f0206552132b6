// Exports whose lines contain what no request could store: each is refused with the number of the line and the reason, before
// the target changes.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { settingsOf } from '../../../src/backends/load-settings.ts';
import { openStores } from '../../../src/backends/open-backends.ts';
import type { OpenStores } from '../../../src/contracts/open-backends.ts';
import { latestImportedTimestamp, latestTimestamp } from '../../../src/core/objects/timestamps.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { inUnit } from '../../../src/maintenance/units.ts';
import { importStores } from '../../../src/transfer/export/export.ts';
import { end, fileOf, head as headOf } from './file-of-lines.ts';

let target: OpenStores;

beforeAll(async () => {
  target = await openStores(settingsOf({ userid_hmac_secret: 'secret' }), systemClock);
});
afterAll(() => target.close());

const records = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
const head = (more: object = {}): string => headOf(records, more);
const entry = (data: string, id = 'e'): string => `{"id":${JSON.stringify(id)},"last_modified":5,"data":${data}}`;
const nested = (levels: number): string => '{"a":'.repeat(levels) + '1.0' + '}'.repeat(levels);

const inRecords = (...lines: readonly string[]): readonly string[] => [head(), ...lines, end()];

describe('the import refuses', () => {
  test('bytes that are not UTF-8, after the faults of the lines before', async () => {
    const lines = inRecords(entry('{"a":"\uFFFD"}'), '{"id":"f","last_modified":6,"data":{"a":"é"}}');
    await importStores(fileOf(lines), target, { mode: 'empty' });
    const latin = lines.map((line) => line.replace('\uFFFD', '?'));
    const importing = importStores(fileOf(latin, 'latin1'), target, { mode: 'empty' });
    await expect(importing).rejects.toThrow(/x\.ndjson, line 4: not UTF-8$/);
    const wrong = fileOf([head(), entry('[]'), ...latin.slice(2)], 'latin1');
    await expect(importStores(wrong, target, { mode: 'empty' })).rejects.toThrow('line 3: data is not an object');
    expect((await target.storage.reader.get(records, 'f'))?.text).toBe('{"a":"é"}');
  });

  test.each<readonly [string, readonly string[], string]>([
    ['a clock at the end of the range', [head({ clock: Number.MAX_SAFE_INTEGER }), end()], 'line 2: clock is not a'],
    ['a final clock at the end of it', [head(), end({ clock: latestImportedTimestamp + 1 })], 'line 3: clock is not a'],
    ['such a horizon', [head(), end({ horizon: Number.MAX_SAFE_INTEGER })], 'line 3: horizon is not a timestamp'],
    [
      'such an object',
      inRecords('{"id":"e","last_modified":9007199254740991,"data":{}}'),
      'line 3: last_modified is not a timestamp from 0 to 4504699138998272: 9007199254740991',
    ],
    [
      'a timestamp with an exponent',
      inRecords('{"id":"e","last_modified":1e3,"deleted":true}'),
      'line 3: last_modified',
    ],
    ['the clock of accounts too', [head({ kind: 'account', parent: '', clock: 2 ** 53 - 1 }), end()], 'line 2: clock'],
    ['a number out of range', inRecords(entry('{"n":[1e999999]}')), 'line 3: data has a number out of range'],
    ['a null character', inRecords(entry('{"a":{"x":"\\u0000"}}')), 'line 3: data.a.x: null characters and lone'],
    ['a null character in a name', inRecords(entry('{"\\u0000":1}')), 'line 3: data.\uFFFD: null characters'],
    ['a lone surrogate', inRecords(entry('{"x":"\\ud800"}')), 'line 3: data.x: null characters and lone surrogates'],
    ['a repeated attribute', inRecords(entry('{"a":1,"a":2}')), 'line 3: an object in data has the same name twice'],
    [
      'a repeated name below',
      inRecords(entry('{"a":[{"b":1.0,"b":{}}]}')),
      'line 3: an object in data has the same name',
    ],
    ['the attribute id', inRecords(entry('{"id":"other"}')), 'line 3: data has the reserved attribute id'],
    [
      'the attribute last_modified',
      inRecords(entry('{"last_modified":1}')),
      'line 3: data has the reserved attribute last',
    ],
    ['a live object marked as deleted', inRecords(entry('{"deleted":true}')), 'line 3: data has the attribute deleted'],
    ['very deep data', inRecords(entry(nested(50_000))), 'line 3: data is nested deeper than 900 levels'],
    [
      'very deep data with blanks',
      inRecords(entry(nested(50_000).replace('1', ' 1'))),
      'line 3: data is nested deeper',
    ],
    ...['', '.', '..', 'a/b', '../../x', 'a\0b', 'a\nb', 'a*', '\ud800'].map(
      (id) =>
        [`the id ${JSON.stringify(id)}`, inRecords(entry('{}', id)), 'line 3: no object can have the id "'] as const,
    ),
    ...['/a/../b', '/a//b', '/a/', '/', '/a\u0001', '/a/b*', 'account:a\u001b'].map(
      (parent) =>
        [
          `the parent ${JSON.stringify(parent)}`,
          [head({ parent }), end()],
          'line 2: no list can have the parent "',
        ] as const,
    ),
    ...['', 'a\u0001b', '\u0085'].map(
      (kind) => [`the kind ${JSON.stringify(kind)}`, [head({ kind }), end()], 'line 2: no kind of objects'] as const,
    ),
    [
      'permissions of an impossible URI',
      ['{"permissionsOf":"/a/..","entries":{}}'],
      'line 2: no object can have the URI',
    ],
    [
      'a principal with a null character',
      ['{"permissionsOf":"/a","entries":{"read":["a\\u0000"]}}'],
      'line 2: null char',
    ],
    ['a permission with one', ['{"permissionsOf":"/a","entries":{"a\\u0000":[]}}'], 'line 2: null characters'],
    ['a member with one', ['{"principalsOf":"a\\u0000","principals":["b"]}'], 'line 2: null characters'],
    ['a membership with one', ['{"principalsOf":"a","principals":["\\ud800"]}'], 'line 2: null characters'],
    ['an entry before its list', [entry('{}')], 'line 2: an entry comes before its list'],
    ['an entry after its list', [...inRecords(), entry('{}')], 'line 4: an entry comes before its list'],
    ['an end before its list', [end()], 'line 2: the end of a list comes before its start'],
    [
      'two objects with one timestamp',
      inRecords(entry('{}', 'a'), entry('{}', 'b')),
      'line 4: the entry b is not in the order of timestamps: 5 comes after 5',
    ],
    [
      'an object and a tombstone with one timestamp',
      inRecords(entry('{}', 'a'), '{"id":"b","last_modified":5,"deleted":true}'),
      'line 4: the entry b is not in the order of timestamps',
    ],
    [
      'an object before an older one',
      inRecords('{"id":"a","last_modified":6,"data":{}}', entry('{}', 'b')),
      'line 4: the entry b is not in the order of timestamps: 5 comes after 6',
    ],
    [
      'a list twice',
      [...inRecords(), ...inRecords()],
      'line 4: the record list of /buckets/b/collections/c comes twice',
    ],
    [
      'a list before its parent',
      [...inRecords(), head({ kind: 'bucket', parent: '' }), end()],
      'line 4: the bucket list of the root comes twice, or not in the order of parents and kinds',
    ],
    [
      'a clock nested very deep',
      [`{"list":{"kind":"a","parent":"","clock":${'['.repeat(200_000)}${']'.repeat(200_000)}}}`, end()],
      'line 2: clock is not a timestamp from 0 to 4504699138998272: an array or an object',
    ],
    [
      'permissions nested very deep',
      [`{"permissionsOf":"/a","entries":{"read":${'['.repeat(200_000)}${']'.repeat(200_000)}}}`],
      'line 2: not a list of texts',
    ],
    ['a list inside of another one', [head(), head({ parent: '' })], 'line 3: the end of the list before is missing'],
  ])('%s', async (_what, lines, message) => {
    await expect(importStores(fileOf(inRecords(entry('{"n":1}'))), target, { mode: 'empty' })).resolves.toBeDefined();
    // The lines before the fault are fine, and may not replace what is there.
    await expect(importStores(fileOf(lines), target, { mode: 'empty' })).rejects.toThrow(message);
    expect((await target.storage.reader.get(records, 'e'))?.text).toBe('{"n":1}');
  });
});

describe('the import accepts', () => {
  test('a list that continues beyond the latest timestamp of a client, and the list stays writable', async () => {
    const clock = latestTimestamp + 3;
    const lines = [
      head({ clock }),
      `{"id":"e","last_modified":${clock},"data":{}}`,
      end({ clock, isMoving: false, objects: 1 }),
    ];
    const { differences } = await importStores(fileOf(lines), target, { mode: 'empty' });
    expect(differences).toEqual([]);
    await inUnit(target.storage.database, (transaction) =>
      target.storage.writer(transaction).create(records, 'later', '{}'),
    );
    expect((await target.storage.reader.get(records, 'later'))?.lastModified).toBe(clock + 1);
  });

  test.each([
    ['data of many levels', entry(nested(900)), nested(900)],
    ['escaped characters', entry('{"a":"\\u001b\\ud83d\\ude00\\""}'), '{"a":"\\u001b\\ud83d\\ude00\\""}'],
    ['all digits', entry('{"a":1.10,"b":-0,"c":1e-400}'), '{"a":1.10,"b":-0,"c":1e-400}'],
    ['names that look like reserved ones', entry('{"deleted":false,"a":{"id":1}}'), '{"deleted":false,"a":{"id":1}}'],
    ['colons and names inside of texts', entry('{"a":"\\"a\\":1 ,","b": 1.0}'), '{"a":"\\"a\\":1 ,","b":1.0}'],
  ])('%s', async (_what, line, stored) => {
    await importStores(fileOf(inRecords(line)), target, { mode: 'empty' });
    expect((await target.storage.reader.get(records, 'e'))?.text).toBe(stored);
  });

  test.each([
    ['record', '/buckets/a_b/collections/50%'],
    ['history', '/buckets/b/history'],
    ['attachments', '__attachments__/buckets/b/collections/c'],
    ['__webhook__partner', 'record:/buckets/b/collections/c'],
    ['task', '/tasks/openid%3Aa%7Cb'],
    ['note', 'openid:https://example.org/*?a=b'],
  ])('the kind %s with the parent %s', async (kind, parent) => {
    await importStores(fileOf([head({ kind, parent }), entry('{}'), end()]), target, { mode: 'empty' });
    expect(await target.storage.reader.get({ kind, parent: storedParent(parent) }, 'e')).toBeDefined();
  });
});
