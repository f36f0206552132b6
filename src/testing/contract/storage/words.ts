// Cases of searches for words.
import assert from 'node:assert/strict';
import { wordSlot } from '../../../core/index/definition.ts';
import { StoredObject, type IndexKeys } from '../../../core/objects/stored.ts';
import { wordsOf } from '../../../core/text/words.ts';
import type { StorageCase } from '../contract-case.ts';
import { pageQuery, records, storageCase, type StorageProbe } from './storage-probe.ts';
import type { ListKey, StorageWriter } from '../plain-contracts.ts';

const other: ListKey = { kind: 'record', parent: '/buckets/food/collections/vegetables' };

/** Creates a case that needs the ability `textSearch`. */
function wordCase(name: string, body: (probe: StorageProbe) => Promise<void>): StorageCase {
  return { ...storageCase(name, body), needs: ['textSearch'] };
}

function keysWith(text: string): IndexKeys {
  const keys: (Buffer | undefined)[] = [];
  keys[wordSlot] = text === '' ? undefined : Buffer.from(wordsOf(text).join(' '));
  return keys;
}

async function seed(probe: StorageProbe, texts: Readonly<Record<string, string>>): Promise<void> {
  await probe.unit(async (writer) => {
    for (const [id, text] of Object.entries(texts)) {
      await writer.create(probe.list, id, '{}', undefined, { keys: keysWith(text) });
    }
  });
}

/** Returns the ids of what is found, in alphabetical order, after checking that the count agrees. */
async function find(
  probe: StorageProbe,
  words: string,
  prefixes = '',
  reader: Pick<StorageWriter, 'findWords' | 'countWords'> = probe.reader,
): Promise<readonly string[]> {
  const search = { words: wordsOf(words), prefixes: wordsOf(prefixes) };
  const { ids, more } = await reader.findWords(probe.list, search, 1000);
  assert.equal(more, false);
  assert.equal(await reader.countWords(probe.list, search), ids.length);
  return ids.toSorted();
}

export const wordCases: readonly StorageCase[] = [
  wordCase('objects are found by all of several words and prefixes', async (probe) => {
    await seed(probe, { a: 'green tea', b: 'green teapot', c: 'tea 日本 ß', d: 'te 1 x1', e: '' });
    assert.deepEqual(await find(probe, 'green'), ['a', 'b']);
    assert.deepEqual(await find(probe, 'green tea'), ['a']);
    assert.deepEqual(await find(probe, 'tea green'), ['a']);
    assert.deepEqual(await find(probe, '', 'tea'), ['a', 'b', 'c']);
    assert.deepEqual(await find(probe, 'green', 'tea'), ['a', 'b']);
    assert.deepEqual(await find(probe, '', 'te gre'), ['a', 'b']);
    assert.deepEqual(await find(probe, '日 tea'), ['c']);
    assert.deepEqual(await find(probe, 'x1'), ['d']);
    assert.deepEqual(await find(probe, '', 'x'), ['d']);
    assert.deepEqual(await find(probe, '1 te'), ['d']);
    assert.deepEqual(await find(probe, 'e'), []);
  }),

  wordCase('a limit ends the search, and more says so', async (probe) => {
    await seed(probe, Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`id${n}`, `tea w${n}`])));
    for (const [words, prefixes] of [
      ['tea', ''],
      ['', 'te'],
    ] as const) {
      const search = { words: wordsOf(words), prefixes: wordsOf(prefixes) };
      const some = await probe.reader.findWords(records, search, 10);
      assert.deepEqual([new Set(some.ids).size, some.ids.length, some.more], [10, 10, true]);
      const all = await probe.reader.findWords(records, search, 30);
      assert.deepEqual([new Set(all.ids).size, all.ids.length, all.more], [30, 30, false]);
    }
  }),

  // More than SQLite looks for in one statement.
  wordCase('objects are found by very many words and prefixes in a long list', async (probe) => {
    const common = Array.from({ length: 240 }, (_, n) => `c${n}`);
    const numbers = Array.from({ length: 1000 }, (_, n) => n);
    const rest = (n: number): string => `${n % 2 === 0 ? 'even' : 'odd'} seven${n % 7} ends${n % 7}${n % 5} ends9`;
    await seed(probe, Object.fromEntries(numbers.map((n) => [`id${n}`, `${common.join(' ')} ${rest(n)}`])));
    const ids = (test: (n: number) => boolean): readonly string[] =>
      numbers
        .filter(test)
        .map((n) => `id${n}`)
        .toSorted();
    const words = common.join(' ');
    const prefixes = common.slice(10, 50).join(' ');
    assert.deepEqual(
      await find(probe, `${words} odd seven3`),
      ids((n) => n % 2 === 1 && n % 7 === 3),
    );
    assert.deepEqual(await find(probe, `odd even ${words}`), []);
    assert.deepEqual(
      await find(probe, `${words} even`, `ends2 ${prefixes}`),
      ids((n) => n % 2 === 0 && n % 7 === 2),
    );
    assert.deepEqual(
      await find(probe, 'seven1', `od ${prefixes}`),
      ids((n) => n % 2 === 1 && n % 7 === 1),
    );
    assert.deepEqual(
      await find(probe, '', `ends ${prefixes}`),
      ids(() => true),
    );
    assert.deepEqual(
      await find(probe, '', `seven4 od ${prefixes}`),
      ids((n) => n % 2 === 1 && n % 7 === 4),
    );
    assert.deepEqual(await find(probe, '', `nothing ${prefixes}`), []);
    for (const search of [
      { words: wordsOf(`${words} ends9`), prefixes: [] },
      { words: [], prefixes: wordsOf(`ends ${prefixes}`) },
    ]) {
      const some = await probe.reader.findWords(records, search, 300);
      assert.deepEqual([new Set(some.ids).size, some.ids.length, some.more], [300, 300, true]);
      const all = await probe.reader.findWords(records, search, 1000);
      assert.deepEqual([new Set(all.ids).size, all.ids.length, all.more], [1000, 1000, false]);
    }
    await probe.unit(async (writer) => {
      await writer.create(records, 'new', '{}', undefined, { keys: keysWith(`${words} odd`) });
      assert.equal((await find(probe, `${words} odd`, '', writer)).length, 501);
      assert.equal((await find(probe, '', `odd ${prefixes}`, writer)).length, 501);
    });
  }),

  wordCase('the words of other lists are not found, and a list that never was has none', async (probe) => {
    await seed(probe, { a: 'tea' });
    await seed(probe.at(other), { b: 'tea' });
    assert.deepEqual(await find(probe, 'tea'), ['a']);
    assert.deepEqual(await find(probe.at(other), '', 'te'), ['b']);
    const missing = await probe.reader.findWords(
      { ...other, kind: 'group' },
      { words: wordsOf('tea'), prefixes: [] },
      9,
    );
    assert.deepEqual(missing, { timestamp: undefined, ids: [], more: false });
  }),

  wordCase('words change with their object, and go with it', async (probe) => {
    await seed(probe, { a: 'tea', b: 'tea', c: 'tea', d: 'tea', e: 'tea', f: 'tea' });
    await probe.unit(async (writer) => {
      await writer.update(records, 'a', '{}', undefined, keysWith('milk'));
      await writer.update(records, 'b', '{}', undefined, keysWith(''));
      await writer.delete(records, 'c');
      await writer.deleteAll(records, pageQuery({ ids: ['d'] }));
      const object = await writer.get(records, 'e');
      await writer.setKeys(records, [{ id: 'e', lastModified: object!.lastModified, keys: keysWith('milk sugar') }]);
    });
    assert.deepEqual(await find(probe, 'tea'), ['f']);
    assert.deepEqual(await find(probe, 'milk'), ['a', 'e']);
    await probe.unit(async (writer) => {
      await writer.create(records, 'c', '{}', undefined, { keys: keysWith('sugar') });
      await writer.restore(records, { clock: 0, entries: [new StoredObject('e', probe.now + 5, '{}')], gone: ['f'] });
    });
    assert.deepEqual(await find(probe, 'sugar'), ['c']);
    assert.deepEqual(await find(probe, 'tea'), []);
    await probe.trim(1);
    assert.deepEqual(await find(probe, 'milk'), []);
  }),

  wordCase('nothing is found of a list that was emptied with its parent, or of a flushed store', async (probe) => {
    await seed(probe, { a: 'tea' });
    await probe.deleteChildren(records.parent);
    assert.deepEqual(await find(probe, 'tea'), []);
    await seed(probe, { b: 'tea' });
    assert.deepEqual(await find(probe, 'tea'), ['b']);
    await probe.unit((writer) => writer.flush());
    assert.deepEqual(await find(probe, 'tea'), []);
    await seed(probe, { c: 'tea' });
    assert.deepEqual(await find(probe, 'tea'), ['c']);
  }),

  wordCase('a unit finds what it has written, with the clock of that', async (probe) => {
    await seed(probe, { a: 'tea' });
    await probe.unit(async (writer) => {
      await writer.create(records, 'b', '{}', undefined, { keys: keysWith('tea') });
      assert.deepEqual(await find(probe, 'tea', '', writer), ['a', 'b']);
      await writer.delete(records, 'a');
      assert.deepEqual(await find(probe, '', 'te', writer), ['b']);
      const { timestamp } = await writer.findWords(records, { words: wordsOf('tea'), prefixes: [] }, 9);
      assert.equal(timestamp, await writer.resourceTimestamp(records));
    });
    const { timestamp, ids } = await probe.reader.findWords(records, { words: wordsOf('tea'), prefixes: [] }, 9);
    assert.deepEqual([timestamp, ids], [await probe.timestamp(), ['b']]);
  }),

  {
    ...wordCase('a unit that is undone leaves the words as they were', async (probe) => {
      await seed(probe, { a: 'tea', b: 'tea' });
      const undone = probe.unit(async (writer) => {
        await writer.update(records, 'a', '{}', undefined, keysWith('milk'));
        await writer.delete(records, 'b');
        await writer.create(records, 'c', '{}', undefined, { keys: keysWith('tea') });
        throw new Error('undo');
      });
      await assert.rejects(undone, /undo/);
      assert.deepEqual(await find(probe, 'tea'), ['a', 'b']);
      assert.deepEqual(await find(probe, 'milk'), []);
    }),
    needs: ['textSearch', 'rollback'],
  },
];
