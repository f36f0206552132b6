// Helpers of storage cases: one list, each call in a unit of work of its own unless a writer is given, and results as ids
// and plain values that read well in an assertion.
import assert from 'node:assert/strict';
import type { JsonObject, JsonValue } from '../../../base/json.ts';
import { runAtOnce } from '../../../base/steps.ts';
import type { Deletion, LockedState, Page } from '../../../contracts/storage.ts';
import { joinPage } from '../../../core/objects/page-text.ts';
import { storedUri } from '../../../core/objects/uris.ts';
import { formatAttributes, isTombstone, type StoredEntry, type StoredObject } from '../../../core/objects/stored.ts';
import type { Comparison, Filter, PageQuery, Selection, SortKey } from '../../../core/query/ast.ts';
import { foldCase } from '../../../core/query/fold-case.ts';
import { parseField } from '../../../core/query/fields.ts';
import type { StorageCase, StorageContext, TestClock } from '../contract-case.ts';
import { inUnit } from '../unit-of-work.ts';
import type { Database, ListKey, StorageBackend, StorageReader, StorageWriter } from '../plain-contracts.ts';

/** The default list of cases. */
export const records = { kind: 'record', parent: storedUri('/buckets/food/collections/fruits') };

/** Creates a case whose body works with a probe. */
export function storageCase(name: string, body: (probe: StorageProbe) => Promise<void>): StorageCase {
  return { name, run: (context) => body(new StorageProbe(context)) };
}

/** Creates a case that needs the ability `rollback`. */
export function rollbackCase(name: string, body: (probe: StorageProbe) => Promise<void>): StorageCase {
  return { ...storageCase(name, body), needs: ['rollback'] };
}

export class StorageProbe {
  readonly list: ListKey;
  readonly database: Database;
  readonly storage: StorageBackend;
  readonly clock: TestClock;
  readonly reader: StorageReader;
  readonly #context: StorageContext;

  constructor(context: StorageContext, list: ListKey = records) {
    this.list = list;
    this.#context = context;
    this.database = context.database;
    this.storage = context.storage;
    this.clock = context.clock;
    this.reader = context.storage.reader;
  }

  /** Returns a probe of another list in the store. */
  at(list: ListKey): StorageProbe {
    return new StorageProbe(this.#context, list);
  }

  /** The current time. */
  get now(): number {
    return this.clock.now();
  }

  unit<T>(work: (writer: StorageWriter) => Promise<T>): Promise<T> {
    return inUnit(this.database, (transaction) => work(this.storage.writer(transaction)));
  }

  create(id: string, attributes: JsonObject = {}, lastModified?: number): Promise<StoredObject> {
    return this.unit((writer) => writer.create(this.list, id, formatAttributes(attributes), lastModified));
  }

  update(id: string, attributes: JsonObject = {}, lastModified?: number): Promise<StoredObject> {
    return this.unit((writer) => writer.update(this.list, id, formatAttributes(attributes), lastModified));
  }

  delete(id: string, options?: Parameters<StorageWriter['delete']>[2]): Promise<Deletion | undefined> {
    return this.unit((writer) => writer.delete(this.list, id, options));
  }

  lock(id?: string): Promise<LockedState> {
    return this.unit((writer) => writer.lock(this.list, id));
  }

  touch(to?: number): Promise<number> {
    return this.unit((writer) => writer.touch(this.list, to));
  }

  deleteAll(query: Partial<PageQuery> = {}): ReturnType<StorageWriter['deleteAll']> {
    return this.unit((writer) => writer.deleteAll(this.list, pageQuery(query)));
  }

  deleteChildren(uri: string): Promise<void> {
    return this.unit((writer) => writer.deleteChildren(uri));
  }

  purge(options?: Parameters<StorageWriter['purgeDeleted']>[0]): Promise<number> {
    return this.unit((writer) => writer.purgeDeleted(options));
  }

  trim(maxObjects: number, selection: Partial<Selection> = {}): Promise<number> {
    return this.unit((writer) => writer.trimObjects(this.list, { filters: [], ...selection }, maxObjects));
  }

  /** Creates objects in the given order, each with the next timestamp. */
  async seed(objects: Readonly<Record<string, JsonObject>>): Promise<void> {
    await this.unit(async (writer) => {
      for (const [id, attributes] of Object.entries(objects)) {
        await writer.create(this.list, id, formatAttributes(attributes));
      }
    });
  }

  get(id: string): Promise<StoredObject | undefined> {
    return this.reader.get(this.list, id);
  }

  timestamp(): Promise<number | undefined> {
    return this.reader.resourceTimestamp(this.list);
  }

  /** Returns one page, after checking that the page as a text is equal. */
  async page(query: Partial<PageQuery> = {}): Promise<Page> {
    const asked = pageQuery(query);
    const page = await this.reader.listAll(this.list, asked);
    // Twice, because a backend may cache the first result.
    for (let time = 0; time < 2; time++) {
      assert.deepEqual(await this.reader.listText(this.list, asked), runAtOnce(joinPage(page)));
    }
    return page;
  }

  /** Returns the ids of one page in order; those of tombstones have a dagger. */
  async ids(query: Partial<PageQuery> = {}): Promise<readonly string[]> {
    return marks((await this.page(query)).entries);
  }

  /** Returns everything in the list, oldest first, tombstones included. */
  everything(): Promise<readonly string[]> {
    return this.ids({ includeDeleted: true, sort: [ascending('last_modified')] });
  }

  count(selection: Partial<Selection> = {}): Promise<number> {
    return this.reader.countAll(this.list, { filters: [], ...selection });
  }

  /** Returns the attributes of a live object, which must exist. */
  async attributes(id: string): Promise<JsonObject> {
    const object = await this.get(id);
    assert.ok(object, `${id} does not exist`);
    return object.attributes;
  }
}

/** Returns a query for everything, newest first, with the given members replaced. */
export function pageQuery(query: Partial<PageQuery>): PageQuery {
  return { filters: [], sort: [descending('last_modified')], limit: 1000, ...query };
}

/** Returns ids in order; those of tombstones have a dagger. */
export function marks(entries: readonly StoredEntry[]): readonly string[] {
  return entries.map((entry) => (isTombstone(entry) ? `†${entry.id}` : entry.id));
}

export function ascending(name: string): SortKey {
  return { field: parseField(name), direction: 'ascending' };
}

export function descending(name: string): SortKey {
  return { field: parseField(name), direction: 'descending' };
}

/** Parses sort keys as clients write them, `-author.name,title`, and adds the unique last one. */
export function sortKeys(text: string): readonly SortKey[] {
  const keys = text.split(',').map((part) => (part.startsWith('-') ? descending(part.slice(1)) : ascending(part)));
  const unique = keys.some((key) => key.field.name === 'last_modified' || key.field.name === 'id');
  return unique ? keys : [...keys, descending('last_modified')];
}

export function compare(name: string, operator: Comparison, value: JsonValue): Filter {
  return { field: parseField(name), operator, value };
}

export function oneOf(name: string, ...values: readonly JsonValue[]): Filter {
  return { field: parseField(name), operator: 'in', values };
}

export function noneOf(name: string, ...values: readonly JsonValue[]): Filter {
  return { field: parseField(name), operator: 'exclude', values };
}

/** Creates a filter by a text with `*` for any characters. */
export function like(name: string, text: string): Filter {
  return { field: parseField(name), operator: 'like', parts: foldCase(text).split('*') };
}

export function has(name: string, present: boolean): Filter {
  return { field: parseField(name), operator: 'has', present };
}

export function contains(name: string, ...values: readonly JsonValue[]): Filter {
  return { field: parseField(name), operator: 'contains', values };
}

export function containsAny(name: string, ...values: readonly JsonValue[]): Filter {
  return { field: parseField(name), operator: 'contains_any', values };
}
