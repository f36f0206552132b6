// The cache contract as cases: values are returned unchanged until they expire or are taken.
import assert from 'node:assert/strict';
import { ExactNumber, parseJson, type JsonValue } from '../../../base/json.ts';
import { UnstorableText } from '../../../contracts/errors.ts';
import { lookalikes, oddTexts, requireNothing, unstorableTexts } from '../hostile-text.ts';
import type { CacheCase, CacheContext } from '../contract-case.ts';

function cacheCase(name: string, run: (context: CacheContext) => Promise<void>): CacheCase {
  return { name, run };
}

const values: readonly (readonly [string, JsonValue])[] = [
  ['text', 'väl🍓ue'],
  ['the empty text', ''],
  ['a number', 4.5],
  ['zero', 0],
  ['an exact number', new ExactNumber('12345678901234567890')],
  ['true', true],
  ['false', false],
  ['null', null],
  ['an array', [1, 'a', null, [true]]],
  ['an object', { a: { b: [1] } }],
  ['an object with the key __proto__', parseJson('{"__proto__":{"a":1}}')],
];

/** Each case needs an empty cache of its own. */
export const cacheCases: readonly CacheCase[] = [
  ...values.map(([what, value]) =>
    cacheCase(`${what} comes back as it was set`, async ({ cache }) => {
      await cache.set('key', value, 60);
      assert.deepEqual(await cache.get('key'), value);
      assert.deepEqual(await cache.delete('key'), value);
    }),
  ),
  cacheCase('an unknown key has no value', async ({ cache }) => {
    assert.equal(await cache.get('key'), undefined);
    assert.equal(await cache.delete('key'), undefined);
  }),
  cacheCase('a value may be read many times', async ({ cache }) => {
    await cache.set('key', 'value', 60);
    for (let i = 0; i < 3; i++) assert.equal(await cache.get('key'), 'value');
  }),
  cacheCase('a later value replaces an earlier one and its time to live', async ({ cache, clock }) => {
    await cache.set('key', 'old', 10);
    await cache.set('key', 'new', 100);
    clock.advance(50_000);
    assert.equal(await cache.get('key'), 'new');
    await cache.set('key', 'newest', 1);
    clock.advance(2000);
    assert.equal(await cache.get('key'), undefined);
  }),
  cacheCase('a value is returned until it expires', async ({ cache, clock }) => {
    await cache.set('key', 'value', 10);
    clock.advance(9999);
    assert.equal(await cache.get('key'), 'value');
    clock.advance(1);
    assert.equal(await cache.get('key'), undefined);
  }),
  cacheCase('a time to live may be a fraction of a second', async ({ cache, clock }) => {
    await cache.set('key', 'value', 0.5);
    clock.advance(400);
    assert.equal(await cache.get('key'), 'value');
    clock.advance(200);
    assert.equal(await cache.get('key'), undefined);
  }),
  cacheCase('a value with a time to live of 0 is absent at once', async ({ cache }) => {
    await cache.set('key', 'value', 0);
    assert.equal(await cache.get('key'), undefined);
  }),
  cacheCase('an expired value cannot be taken', async ({ cache, clock }) => {
    await cache.set('key', 'value', 10);
    clock.advance(10_001);
    assert.equal(await cache.delete('key'), undefined);
  }),
  cacheCase('a taken value is absent', async ({ cache }) => {
    await cache.set('key', 'value', 60);
    assert.equal(await cache.delete('key'), 'value');
    assert.equal(await cache.get('key'), undefined);
    assert.equal(await cache.delete('key'), undefined);
  }),
  cacheCase('exactly one of many concurrent callers takes a value', async ({ cache }) => {
    await cache.set('token', 'once', 60);
    const taken = await Promise.all(Array.from({ length: 20 }, () => cache.delete('token')));
    assert.deepEqual(
      taken.filter((value) => value !== undefined),
      ['once'],
    );
  }),
  cacheCase('a key may be used again after its value was taken', async ({ cache }) => {
    await cache.set('key', 'old', 60);
    await cache.delete('key');
    await cache.set('key', 'new', 60);
    assert.equal(await cache.get('key'), 'new');
  }),
  cacheCase('an instant starts at the given time and advances by the given step', async ({ cache }) => {
    assert.equal(await cache.advance('moment', 5, 100, 60), 105);
    assert.equal(await cache.advance('moment', 5, 100, 60), 110);
    assert.equal(await cache.advance('moment', -3, 0, 60), 107);
    assert.equal(await cache.get('moment'), 107);
  }),
  cacheCase('an instant in the past starts anew from the later time', async ({ cache }) => {
    await cache.advance('moment', 5, 100, 60);
    assert.equal(await cache.advance('moment', 5, 1000, 60), 1005);
  }),
  cacheCase('each step of an instant renews its time to live', async ({ cache, clock }) => {
    await cache.advance('moment', 1, 100, 60);
    clock.advance(40_000);
    await cache.advance('moment', 1, 100, 30);
    clock.advance(29_000);
    assert.equal(await cache.get('moment'), 102);
    clock.advance(2000);
    assert.equal(await cache.advance('moment', 1, 100, 60), 101);
  }),
  cacheCase('instants in microseconds are exact', async ({ cache }) => {
    const now = 1_700_000_000_123_457;
    assert.equal(await cache.advance('moment', 6_666_667, now, 60), now + 6_666_667);
    assert.equal(await cache.advance('moment', 1, now, 60), now + 6_666_668);
  }),
  cacheCase('concurrent steps of an instant are all counted', async ({ cache }) => {
    const moments = await Promise.all(Array.from({ length: 20 }, () => cache.advance('moment', 3, 100, 60)));
    assert.deepEqual(
      moments.toSorted((a, b) => a - b),
      Array.from({ length: 20 }, (_, index) => 103 + index * 3),
    );
  }),
  cacheCase('expire extends the time to live of a key', async ({ cache, clock }) => {
    await cache.set('key', 'value', 10);
    await cache.expire('key', 100);
    clock.advance(50_000);
    assert.equal(await cache.get('key'), 'value');
    clock.advance(51_000);
    assert.equal(await cache.get('key'), undefined);
  }),
  cacheCase('expire shortens the time to live of a key', async ({ cache, clock }) => {
    await cache.set('key', 'value', 100);
    await cache.expire('key', 10);
    clock.advance(11_000);
    assert.equal(await cache.get('key'), undefined);
  }),
  cacheCase('expire does not restore an absent or expired key', async ({ cache, clock }) => {
    await cache.expire('absent', 100);
    assert.equal(await cache.get('absent'), undefined);
    await cache.set('key', 'value', 10);
    clock.advance(11_000);
    await cache.expire('key', 100);
    assert.equal(await cache.get('key'), undefined);
  }),
  cacheCase('keys are compared byte for byte', async ({ cache }) => {
    const keys = ['a', 'A', 'a ', 'ä', '__proto__', 'constructor', 'a%', 'a_', 'x'.repeat(250)];
    for (const [n, key] of keys.entries()) await cache.set(key, n, 60);
    for (const [n, key] of keys.entries()) assert.equal(await cache.get(key), n);
    await cache.delete('a_');
    assert.equal(await cache.get('a%'), 6);
  }),
  cacheCase('every method distinguishes odd keys', async ({ cache }) => {
    for (const key of oddTexts) await cache.set(key, key, 60);
    for (const key of oddTexts) {
      assert.equal(await cache.get(key), key);
      await cache.expire(key, 30);
      assert.equal(await cache.delete(key), key);
      assert.equal(await cache.advance(key, 1, 0, 60), 1);
    }
    for (const key of oddTexts) assert.equal(await cache.get(key), 1);
  }),
  cacheCase(
    'a key that cannot be stored is refused or separate, and never mistaken for another one',
    async ({ cache }) => {
      for (const key of lookalikes) await cache.set(key, 1, 60);
      await requireNothing((key) => cache.get(key));
      await requireNothing((key) => cache.delete(key));
      await requireNothing((key) => cache.expire(key, 1));
      for (const key of unstorableTexts) {
        for (const write of [() => cache.set(key, 2, 60), () => cache.advance(key, 2, 0, 60)]) {
          const isRefused = await write().then(
            () => false,
            (error: unknown) => error instanceof UnstorableText,
          );
          if (!isRefused) assert.equal(await cache.delete(key), 2);
        }
      }
      for (const key of lookalikes) assert.equal(await cache.get(key), 1);
    },
  ),
  cacheCase('changes of a returned value do not change the stored one', async ({ cache }) => {
    const value = { list: [1] };
    await cache.set('key', value, 60);
    value.list.push(2);
    assert.deepEqual(await cache.get('key'), { list: [1] });
    const found = (await cache.get('key')) as { list: number[] };
    found.list.push(3);
    assert.deepEqual(await cache.get('key'), { list: [1] });
  }),
  cacheCase('a flush deletes everything', async ({ cache }) => {
    await cache.set('a', 1, 60);
    await cache.set('b', 2, 60);
    await cache.flush();
    assert.deepEqual([await cache.get('a'), await cache.get('b')], [undefined, undefined]);
    await cache.set('a', 3, 60);
    assert.equal(await cache.get('a'), 3);
  }),
  cacheCase('initializing the schema again keeps everything', async ({ cache }) => {
    await cache.set('a', 1, 60);
    assert.deepEqual(await cache.initializeSchema({ dryRun: true }), []);
    await cache.initializeSchema({ dryRun: false });
    assert.equal(await cache.get('a'), 1);
  }),
];
