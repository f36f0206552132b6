// Cases about texts that a backend may mistake for others, in every argument of every method.
import assert from 'node:assert/strict';
import type { StorageCase } from '../contract-case.ts';
import { lookalikes, oddTexts, requireNothing, requireRefusal } from '../hostile-text.ts';
import {
  ascending,
  compare,
  contains,
  containsAny,
  like,
  noneOf,
  oneOf,
  pageQuery,
  records,
  storageCase,
  type StorageProbe,
} from './storage-probe.ts';
import type { ListKey, StorageReader, StorageWriter } from '../plain-contracts.ts';

const below = (parent: string): ListKey => ({ kind: 'record', parent });
const uriOf = (text: string): string => `/buckets/${text}`;

const kept: readonly StorageCase[] = [
  storageCase('every method distinguishes odd ids', async (probe) => {
    await probe.unit(async (writer) => {
      for (const id of oddTexts) await writer.create(probe.list, id, JSON.stringify({ is: id }));
    });
    for (const id of oddTexts) {
      assert.deepEqual(await probe.attributes(id), { is: id });
      assert.equal((await probe.lock(id)).object?.id, id);
      assert.deepEqual(await probe.ids({ ids: [id] }), [id]);
      assert.deepEqual(await probe.ids({ filters: [compare('id', 'eq', id)] }), [id]);
      assert.deepEqual(await probe.ids({ filters: [oneOf('id', id)] }), [id]);
    }
    assert.deepEqual((await probe.ids()).toSorted(), oddTexts.toSorted());
    for (const id of oddTexts) {
      await probe.update(id, { was: id });
      assert.equal((await probe.delete(id))?.tombstone.id, id);
      assert.equal(await probe.get(id), undefined);
    }
    assert.equal(await probe.count(), 0);
    assert.equal(await probe.count({ includeDeleted: true }), oddTexts.length);
  }),
  storageCase('filters distinguish odd values', async (probe) => {
    await probe.unit(async (writer) => {
      for (const [n, value] of oddTexts.entries()) {
        await writer.create(probe.list, `r${n}`, JSON.stringify({ value, all: [value] }));
      }
    });
    for (const [n, value] of oddTexts.entries()) {
      const id = [`r${n}`];
      assert.deepEqual(await probe.ids({ filters: [compare('value', 'eq', value)] }), id, value);
      assert.deepEqual(await probe.ids({ filters: [oneOf('value', value, 'nowhere')] }), id);
      assert.deepEqual(await probe.ids({ filters: [contains('all', value)] }), id);
      assert.deepEqual(await probe.ids({ filters: [containsAny('all', value)] }), id);
      assert.equal(await probe.count({ filters: [noneOf('value', value)] }), oddTexts.length - 1);
    }
  }),
  storageCase('filters distinguish odd names of attributes', async (probe) => {
    for (const [n, name] of oddTexts.entries()) await probe.create(`r${n}`, Object.fromEntries([[name, 1]]));
    for (const [n, name] of oddTexts.entries()) {
      const field = { name, path: [name] };
      assert.deepEqual(await probe.ids({ filters: [{ field, operator: 'has', present: true }] }), [`r${n}`], name);
      assert.deepEqual(await probe.ids({ filters: [{ field, operator: 'eq', value: 1 }] }), [`r${n}`], name);
    }
  }),
  storageCase('every method distinguishes lists below odd parents', async (probe) => {
    for (const text of oddTexts) await probe.at(below(uriOf(text))).create('x', { is: text });
    for (const text of oddTexts) {
      const list = probe.at(below(uriOf(text)));
      assert.deepEqual(await list.attributes('x'), { is: text });
      assert.deepEqual(await list.ids(), ['x']);
      assert.ok((await list.timestamp()) !== undefined);
    }
    const parents = oddTexts.map(uriOf).toSorted();
    assert.deepEqual((await probe.reader.listParents('record')).toSorted(), parents);
    const walked: string[] = [];
    for (let after: ListKey | undefined; ;) {
      const [next] = await probe.reader.lists(after, 1);
      if (next === undefined) break;
      walked.push(next.parent);
      after = { kind: next.kind, parent: next.parent };
    }
    assert.deepEqual(walked.toSorted(), parents);
    for (const [n, text] of oddTexts.entries()) {
      await probe.deleteChildren(uriOf(text));
      assert.equal((await probe.reader.listParents('record')).length, oddTexts.length - n - 1, text);
    }
  }),
];

/** Calls of each method with a text in each of its arguments that may hold one. */
const reads: Readonly<Record<string, (reader: StorageReader, text: string) => Promise<unknown>>> = {
  'get by id': (reader, text) => reader.get(records, text),
  'get below a parent': (reader, text) => reader.get(below(text), 'plain'),
  'listAll below a parent': (reader, text) => reader.listAll(below(text), pageQuery({})),
  'listAll of ids': (reader, text) => reader.listAll(records, pageQuery({ ids: [text] })),
  'listAll after an id': (reader, text) =>
    reader.listAll(
      records,
      pageQuery({ sort: [ascending('id')], after: [text], filters: [compare('id', 'eq', text)] }),
    ),
  'listAll filtered by a value': (reader, text) =>
    reader.listAll(records, pageQuery({ filters: [compare('value', 'eq', text)] })),
  'listAll filtered by values': (reader, text) =>
    reader.listAll(records, pageQuery({ filters: [oneOf('value', text)] })),
  'listAll filtered by other values': (reader, text) =>
    reader.listAll(records, pageQuery({ filters: [noneOf('value', text)] })),
  'listAll filtered by a search': (reader, text) =>
    reader.listAll(records, pageQuery({ filters: [like('value', `*${text}*`)] })),
  'listAll filtered by contents': (reader, text) =>
    reader.listAll(records, pageQuery({ filters: [contains('value', text)] })),
  'listAll filtered by an attribute': (reader, text) =>
    reader.listAll(
      records,
      pageQuery({ filters: [{ field: { name: text, path: [text] }, operator: 'has', present: true }] }),
    ),
  'listText below a parent': (reader, text) => reader.listText(below(text), pageQuery({})),
  'listText of ids': (reader, text) => reader.listText(records, pageQuery({ ids: [text] })),
  'countAll below a parent': (reader, text) => reader.countAll(below(text), { filters: [] }),
  'countAll of ids': (reader, text) => reader.countAll(records, { filters: [], ids: [text] }),
  'resourceTimestamp below a parent': (reader, text) => reader.resourceTimestamp(below(text)),
  'resourceTimestamp of a kind': (reader, text) => reader.resourceTimestamp({ kind: text, parent: records.parent }),
  'clocks below a parent': async (reader, text) => (await reader.clocks([records, below(text)])).clocks,
  'clocks of a kind': async (reader, text) =>
    (await reader.clocks([{ kind: text, parent: records.parent }, records])).clocks,
  'listParents of a kind': (reader, text) => reader.listParents(text),
};

/** Calls that store nothing of the text. */
const removals: Readonly<Record<string, (writer: StorageWriter, text: string) => Promise<unknown>>> = {
  'lock of an id': (writer, text) => writer.lock(records, text),
  'lockShared of an id': (writer, text) => writer.lockShared(records, text),
  'lockShared below a parent': (writer, text) => writer.lockShared(below(text), 'plain'),
  'delete of an id': (writer, text) => writer.delete(records, text),
  'delete below a parent': (writer, text) => writer.delete(below(text), 'plain'),
  'deleteAll of ids': (writer, text) => writer.deleteAll(records, pageQuery({ ids: [text] })),
  'deleteAll below a parent': (writer, text) => writer.deleteAll(below(text), pageQuery({})),
  deleteChildren: (writer, text) => writer.deleteChildren(text),
  'purgeDeleted below a parent': (writer, text) => writer.purgeDeleted({ parent: text }),
  'purgeDeleted of a kind': (writer, text) => writer.purgeDeleted({ kind: text }),
  'trimObjects below a parent': (writer, text) => writer.trimObjects(below(text), { filters: [] }, 0),
};

const tombstone = (id: string, lastModified: number): { id: string; lastModified: number; deleted: true } => {
  return { id, lastModified, deleted: true };
};

const writes: Readonly<Record<string, (writer: StorageWriter, text: string) => Promise<unknown>>> = {
  'touch below a parent': (writer, text) => writer.touch(below(text)),
  'create under an id': (writer, text) => writer.create(records, text, '{}'),
  'create under a fresh id': (writer, text) => writer.create(records, text, '{}', undefined, { isFresh: true }),
  'create below a parent': (writer, text) => writer.create(below(text), 'x', '{}'),
  'create with a text': (writer, text) => writer.create(records, 'x', `{"a":"${text}"}`),
  'createAll under an id': (writer, text) => writer.createAll(records, [{ id: text, text: '{}' }]),
  'createAll with a text': (writer, text) => writer.createAll(records, [{ id: 'x', text: `{"a":"${text}"}` }]),
  'update under an id': (writer, text) => writer.update(records, text, '{}'),
  'update below a parent': (writer, text) => writer.update(below(text), 'x', '{}'),
  'update with a text': (writer, text) => writer.update(records, 'plain', `{"a":"${text}"}`),
  'restore of an id': (writer, text) =>
    writer.restore(records, { clock: 9, entries: [tombstone(text, 7)], horizon: 0 }),
  'restore below a parent': (writer, text) => writer.restore(below(text), { clock: 9, entries: [], horizon: 0 }),
};

async function seed(probe: StorageProbe): Promise<() => Promise<unknown>> {
  for (const [n, id] of lookalikes.entries()) {
    if (id !== '') await probe.create(id, { value: id, list: [id] });
    await probe.at(below(id)).create(`plain${n}`, {});
    await probe.at(below(id)).create('plain', {});
  }
  return async () => {
    const lists = await probe.reader.lists(undefined, 100);
    const contents = lists.map(({ kind, parent }) => probe.at({ kind, parent }).everything());
    return { lists, contents: await Promise.all(contents) };
  };
}

function unstorableCase(name: string, body: (probe: StorageProbe) => Promise<void>): StorageCase {
  return storageCase(name, async (probe) => {
    const everything = await seed(probe);
    const before = await everything();
    await body(probe);
    assert.deepEqual(await everything(), before);
  });
}

const refused: readonly StorageCase[] = [
  ...Object.entries(reads).flatMap(([name, call]) => [
    unstorableCase(`${name} mistakes a text that cannot be stored for no other`, (probe) =>
      requireNothing((text) => call(probe.reader, text)),
    ),
    unstorableCase(`${name} inside a unit of work mistakes a text that cannot be stored for no other`, (probe) =>
      requireNothing((text) => probe.unit((writer) => call(writer, text))),
    ),
  ]),
  ...Object.entries(removals).map(([name, call]) =>
    unstorableCase(`${name} mistakes a text that cannot be stored for no other`, (probe) =>
      requireNothing((text) => probe.unit((writer) => call(writer, text))),
    ),
  ),
  ...Object.entries(writes).map(([name, call]) =>
    unstorableCase(`${name} refuses a text that cannot be stored`, (probe) =>
      requireRefusal((text) => probe.unit((writer) => call(writer, text))),
    ),
  ),
];

export const hostileTextCases: readonly StorageCase[] = [...kept, ...refused];
