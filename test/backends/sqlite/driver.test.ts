// The SQLite driver changes some values, and the connection refuses each of them. When a new version of the driver binds
// one unchanged, its case fails, and its guard can be removed.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BoundText, Connection } from '../../../src/backends/sqlite/connection.ts';
import { UnstorableText } from '../../../src/contracts/errors.ts';

/** Returns the value as the driver returns it, and its type in SQLite. */
const echo = 'SELECT ?, typeof(?)';

const lossy = [
  ['text behind a null character', 'a\0b', 'a'],
  ['text that begins with a null character', '\0b', ''],
  ['a lone high surrogate', 'a\ud800', 'a\ufffd'],
  ['a lone low surrogate', '\udc00a', '\ufffda'],
] as const;

const faithful = [
  ['\ufffd\uffff\ufeff', 'text'],
  ['e\u0301é😀', 'text'],
  ['\u0001\u001f\u007f\u0085', 'text'],
  ['%_*?\'"\\', 'text'],
  ['x'.repeat(10_000_000), 'text'],
  [2 ** 31 - 1, 'integer'],
  [-(2 ** 31), 'integer'],
  // Whole numbers beyond 32 bits arrive as floating-point numbers, which are exact up to 2^53.
  [2 ** 31, 'real'],
  [Number.MAX_SAFE_INTEGER, 'real'],
  [Number.MIN_SAFE_INTEGER, 'real'],
  [0.1, 'real'],
  [1e300, 'real'],
  [Infinity, 'real'],
  [null, 'null'],
] as const;

let folder: string;
let connection: Connection;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sqlite-driver-'));
  connection = new Connection({ path: join(folder, 'test.db'), synchronous: 'OFF' });
  connection.exec('CREATE TABLE times (time INTEGER NOT NULL, text TEXT NOT NULL) STRICT');
});
afterAll(async () => {
  connection.close();
  await rm(folder, { recursive: true });
});

describe('the SQLite driver', () => {
  const driver = new DatabaseSync(':memory:', { returnArrays: true });

  it.each(lossy)('changes %s', (_what, given, found) => {
    expect(driver.prepare('SELECT ?').get(given)).toEqual([found]);
  });

  it('binds NaN as NULL, and minus zero as zero', () => {
    expect(driver.prepare(echo).get(Number.NaN, Number.NaN)).toEqual([null, 'null']);
    expect(driver.prepare(echo).get(-0, -0)).toEqual([0, 'integer']);
  });

  it('binds absent parameters as NULL, whatever they were before', () => {
    const statement = driver.prepare('SELECT ?, ?');
    expect(statement.get('a', 'b')).toEqual(['a', 'b']);
    expect(statement.get('c')).toEqual(['c', null]);
    expect(() => statement.get('a', 'b', 'c')).toThrow();
  });
});

describe('a connection', () => {
  it.each(lossy)('refuses %s in every kind of statement', (_what, given) => {
    expect(() => connection.get('SELECT ?', given)).toThrow(UnstorableText);
    expect(() => connection.all('SELECT 1 WHERE ? = ?', 'a', given)).toThrow(UnstorableText);
    expect(() => connection.run('INSERT INTO times VALUES (1, ?)', given)).toThrow(UnstorableText);
    expect(() => connection.allMatching([], 'SELECT ?', [given])).toThrow(UnstorableText);
    expect(connection.all('SELECT * FROM times')).toEqual([]);
  });

  it('refuses NaN', () => {
    expect(() => connection.get('SELECT ?', Number.NaN)).toThrow(TypeError);
  });

  it.each(faithful)('binds %j unchanged', (value, type) => {
    expect(connection.get(echo, value, value)).toEqual([value, type]);
  });

  it('binds long texts unchanged, several in one statement and again with shorter ones', () => {
    connection.exec('CREATE TABLE texts (n INTEGER NOT NULL, text TEXT NOT NULL) STRICT');
    const texts = ['é😀'.repeat(100_000), 'x'.repeat(300_000), '\ufffd\u0001'.repeat(40_000), 'short'];
    const insert = 'INSERT INTO texts VALUES (?, CAST(? AS TEXT)), (?, CAST(? AS TEXT))';
    for (const [n, m] of [
      [0, 1],
      [2, 3],
    ] as const) {
      connection.run(insert, n, BoundText.of(texts[n]!), m, BoundText.of(texts[m]!));
    }
    const found = connection.all('SELECT text, typeof(text) FROM texts ORDER BY n');
    expect(found).toEqual(texts.map((text) => [text, 'text']));
  });

  it.each(lossy)('refuses %s at the end of a long text', (_what, given) => {
    const text = BoundText.of('x'.repeat(100_000) + given);
    expect(() => connection.run('INSERT INTO times VALUES (1, CAST(? AS TEXT))', text)).toThrow(UnstorableText);
  });

  it('keeps timestamps exact in integer columns, up to the latest', () => {
    const times = [0, 2 ** 31, 2 ** 32 + 1, 1_700_000_000_001, 2 ** 52, Number.MAX_SAFE_INTEGER];
    for (const time of times) connection.run('INSERT INTO times VALUES (?, ?)', time, 'plain');
    const found = connection.all('SELECT time, typeof(time), time = ?, time > ? FROM times ORDER BY time', 2 ** 52, 0);
    expect(found).toEqual(times.map((time) => [time, 'integer', time === 2 ** 52 ? 1 : 0, time > 0 ? 1 : 0]));
  });
});
