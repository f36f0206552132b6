// Conditional writes as calls of the functions of the server: one call for all new objects with random ids, which most writes
// create, and one call for each other write.
import type { IndexKeys } from '../../core/objects/stored.ts';
import type { ConditionalWrite } from '../../contracts/database.ts';
import { keyOfList, type ListName } from '../../core/lists/list-key.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import { numberArray, textArray } from './array-text.ts';
import { prepared, type Result, type Row, type SqlValue, type Statement } from './connection.ts';
import { keyArray } from './key-columns.ts';
import { findJsonbText } from './jsonb-text.ts';
import { keyOfText } from './text-key.ts';

const writeOne = prepared(
  'write-alone',
  `SELECT coffer_write_alone($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`,
);
const createTogether = prepared(
  'create-together',
  `SELECT unnest(coffer_create_together($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)) AS coffer_create_together`,
);

/** What the functions return when they would have to wait. */
export const busy = -1;

/** A statement that does some of the writes. */
export interface Call {
  readonly statement: Statement;
  readonly values: readonly SqlValue[];
  /** Reports the timestamp of each write by its number; `undefined` when something was not as expected. */
  readonly read: (result: Result, report: (index: number, stamp: number | undefined) => void) => void;
}

export interface TimedWrite {
  readonly write: ConditionalWrite;
  /** Time of the request, in milliseconds since 1970 UTC. */
  readonly now: number;
}

/** Returns the calls that do the writes. */
export function callsOf(writes: readonly TimedWrite[], isPatient: boolean): readonly Call[] {
  const creations = new Creations();
  const calls: Call[] = [];
  for (const [index, { write, now }] of writes.entries()) {
    if (creations.add(write, now, index)) continue;
    calls.push({
      statement: writeOne,
      values: [
        ...valuesOf(write, now),
        isPatient,
        write.holder?.lastModified ?? null,
        write.keys === undefined ? null : keyArray([write.keys]),
      ],
      read: ({ rows }, report) => report(index, stampOf(rows[0])),
    });
  }
  return creations.isEmpty ? calls : [creations.toCall(isPatient), ...calls];
}

function stampOf(row: Row | undefined): number | undefined {
  const stamp = row?.[0];
  return typeof stamp === 'string' ? Number(stamp) : undefined;
}

interface List {
  readonly number: number;
  readonly first: ConditionalWrite;
  readonly folder: string | null;
  count: number;
}

/** New objects, column by column. */
class Creations {
  /** Their places among the writes. */
  readonly #indexes: number[] = [];
  readonly #lists = new Map<ListName, List>();
  readonly #listNumbers: number[] = [];
  readonly #places: number[] = [];
  readonly #ids: string[] = [];
  readonly #data: string[] = [];
  readonly #attributes: (string | null)[] = [];
  readonly #indexKeys: (IndexKeys | undefined)[] = [];
  readonly #entryObjects: number[] = [];
  readonly #permissions: string[] = [];
  readonly #keys: string[] = [];
  readonly #principals: (string | null)[] = [];
  #now = 0;

  get isEmpty(): boolean {
    return this.#ids.length === 0;
  }

  /** Adds a write that can be done together with others. Returns whether it can. */
  add(write: ConditionalWrite, now: number, index: number): boolean {
    const { id, isFresh = false, expected, text, lastModified, uri, entries } = write;
    if (!isFresh || expected !== undefined || text === undefined || lastModified !== undefined) return false;
    const place = uri === undefined ? undefined : splitObjectId(uri);
    const list = this.#listFor(write, place?.folder ?? null);
    // The function derives the names of permission entries from the ids of the objects.
    if (list === undefined || (place !== undefined && place.name !== id)) return false;
    this.#now = Math.max(this.#now, now);
    this.#indexes.push(index);
    this.#listNumbers.push(list.number);
    this.#places.push(list.count++);
    this.#ids.push(id);
    this.#data.push(text);
    this.#attributes.push(findJsonbText(text) ?? null);
    this.#indexKeys.push(write.keys);
    for (const permission in entries) {
      for (const principal of entries[permission]!) this.#addEntry(permission, principal);
    }
    return true;
  }

  #addEntry(permission: string, principal: Principal): void {
    const key = keyOfText(principal);
    this.#entryObjects.push(this.#ids.length);
    this.#permissions.push(permission);
    this.#keys.push(key);
    this.#principals.push(key === principal ? null : principal);
  }

  /** Returns `undefined` for a write whose holder or folder differs from those of other writes to its list. None does so far. */
  #listFor(write: ConditionalWrite, folder: string | null): List | undefined {
    const name = keyOfList(write.list);
    const known = this.#lists.get(name);
    if (known === undefined) {
      const list = { number: this.#lists.size + 1, first: write, folder, count: 0 };
      this.#lists.set(name, list);
      return list;
    }
    const isSame = known.folder === folder && isSameHolder(known.first.holder, write.holder);
    return isSame ? known : undefined;
  }

  toCall(isPatient: boolean): Call {
    const lists = [...this.#lists.values()];
    const writes = lists.map(({ first }) => first);
    const values = [
      textArray(writes.map(({ list }) => list.parent)),
      textArray(writes.map(({ list }) => list.kind)),
      textArray(writes.map(({ holder }) => holder?.list.parent ?? null)),
      textArray(writes.map(({ holder }) => holder?.list.kind ?? null)),
      textArray(writes.map(({ holder }) => holder?.id ?? null)),
      textArray(lists.map(({ folder }) => folder)),
      numberArray(lists.map(({ count }) => count)),
      numberArray(this.#listNumbers),
      numberArray(this.#places),
      textArray(this.#ids),
      textArray(this.#data),
      textArray(this.#attributes),
      numberArray(this.#entryObjects),
      textArray(this.#permissions),
      textArray(this.#keys),
      textArray(this.#principals),
      this.#now,
      isPatient,
      writes.map(({ holder }) => holder?.lastModified ?? null),
      this.#indexKeys.some((keys) => keys !== undefined) ? keyArray(this.#indexKeys) : null,
    ];
    return { statement: createTogether, values, read: ({ rows }, report) => this.#read(rows.map(stampOf), report) };
  }

  /** Computes the timestamps of all objects from those of the first object of each list. */
  #read(firsts: readonly (number | undefined)[], report: (index: number, stamp: number | undefined) => void): void {
    for (const [number, index] of this.#indexes.entries()) {
      const first = firsts[this.#listNumbers[number]! - 1];
      const isGiven = first !== undefined && first !== busy;
      report(index, isGiven ? first + this.#places[number]! : first);
    }
  }
}

function isSameHolder(a: ConditionalWrite['holder'], b: ConditionalWrite['holder']): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.lastModified === b.lastModified && a.id === b.id && a.list.kind === b.list.kind && a.list.parent === b.list.parent
  );
}

function valuesOf(write: ConditionalWrite, now: number): readonly SqlValue[] {
  const { list, id, holder, expected, isFresh = false, text, lastModified, uri } = write;
  const entries = text === undefined ? {} : write.entries;
  const { folder, name } = uri === undefined ? { folder: null, name: null } : splitObjectId(uri);
  const added = Object.entries(entries).flatMap(([permission, principals]) =>
    principals.map((principal) => ({ permission, principal, key: keyOfText(principal) })),
  );
  return [
    holder?.list.parent ?? null,
    holder?.list.kind ?? null,
    holder?.id ?? null,
    list.parent,
    list.kind,
    id,
    expected?.lastModified ?? null,
    expected?.text ?? null,
    isFresh,
    lastModified ?? null,
    now,
    text ?? null,
    text === undefined ? null : (findJsonbText(text) ?? null),
    folder,
    name,
    // A new random id has no permission entries to remove.
    isFresh || Object.keys(entries).length === 0 ? null : Object.keys(entries),
    added.length === 0 ? null : added.map(({ permission }) => permission),
    added.length === 0 ? null : added.map(({ key }) => key),
    added.length === 0 ? null : added.map(({ principal, key }) => (key === principal ? null : principal)),
  ];
}
