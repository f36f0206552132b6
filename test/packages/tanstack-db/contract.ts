// What the end-to-end suites of TanStack DB expect from an adapter: three lists with 100 objects each, collections in all sync
// modes, and functions that write as another client would.
import { BasicIndex, createCollection } from '@tanstack/db';
import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import { bigintText, cofferCollectionOptions, isoDate } from '../../../packages/tanstack-db/src/index.ts';
import { startWorld, type World } from './support.ts';

type Row = Record<string, any> & { readonly id: string };
export type Kind = 'users' | 'posts' | 'comments';
export const kinds: readonly Kind[] = ['users', 'posts', 'comments'];

const idOf = (index: number): string => {
  const hex = index.toString(16).padStart(8, '0');
  return `${hex}-0000-4000-8000-${hex.padStart(12, '0')}`;
};
const names = ['Alice', 'bob', 'Charlie', 'DIANA', 'Eve', 'Frank', 'henry', 'liam', 'Noah', 'PAUL', 'Ursula'];
const titles = ['Introduction to', 'Deep Dive: Topic', 'Quick Guide', 'ANNOUNCEMENT:', 'tutorial', 'Best Practices'];
/** A date of the last year; no two are equal. */
const date = (index: number): Date => new Date(1_700_000_000_000 + ((index * 37) % 100) * 86_400_000 + index);

/** Returns the objects that the lists begin with, a new copy each time. */
export function fixture(): Record<Kind, Row[]> {
  const indexes = Array.from({ length: 100 }, (_, index) => index);
  const unusual = [0, -5, 150];
  const users = indexes.map((index) => ({
    id: idOf(index),
    name: `${names[index % names.length]} ${index}${index % names.length === 10 ? '\nNewline' : ''}`,
    email: index % 10 < 7 ? `user${index}@example.com` : null,
    age: unusual[index] ?? 18 + (index % 63),
    isActive: index % 5 !== 0,
    createdAt: date(index),
    metadata: index % 5 < 2 ? { score: index * 10, level: Math.floor(index / 10) } : null,
    deletedAt: index % 10 === 0 ? date(index + 1) : null,
  }));
  const posts = indexes.map((index) => ({
    id: idOf(index),
    userId: idOf(index),
    title: `${titles[index % 6]} ${index}`,
    content: index % 10 < 7 ? `This is the content for post ${index}.` : null,
    viewCount: index === 0 ? 0 : index === 1 ? -10 : index * 42,
    largeViewCount: index < 10 ? 9_007_199_254_740_992n + BigInt(index) : BigInt(index * 1000),
    publishedAt: index % 5 === 0 ? null : date(index),
    deletedAt: index % 20 === 0 ? date(index + 2) : null,
  }));
  const comments = indexes.map((index) => ({
    id: idOf(index),
    postId: idOf(index),
    userId: idOf((index * 3) % 100),
    text: index % 2 === 0 ? `Great post! Comment ${index}` : `I disagree ${index}`,
    createdAt: date(index),
    deletedAt: index % 13 === 0 ? date(index + 3) : null,
  }));
  return { users, posts, comments };
}

const dates = { createdAt: isoDate, publishedAt: isoDate, deletedAt: isoDate };
const fields: Record<Kind, object> = { users: dates, posts: { ...dates, largeViewCount: bigintText }, comments: dates };
const stored = (row: object): Row =>
  JSON.parse(JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))) as Row;
/** Options of collections that are loaded on demand. */
export const indexed = { autoIndex: 'eager', defaultIndexType: BasicIndex };

export class Contract {
  readonly #world: World;
  #count = 0;
  readonly eager: Record<Kind, any>;
  readonly onDemand: Record<Kind, any>;

  private constructor(world: World) {
    this.#world = world;
    this.eager = this.#ofEach('eager', {});
    this.onDemand = this.#ofEach('on-demand', indexed);
  }

  static async start(): Promise<Contract> {
    const world = await startWorld();
    const all = fixture();
    for (const kind of kinds) {
      await world.client.bucket('b').collections.put(kind, {});
      for (let at = 0; at < 100; at += 25) {
        const chunk = all[kind].slice(at, at + 25);
        await world.client.batch((root) =>
          chunk.map((row) => root.bucket('b').collection<any>(kind).put(row.id, stored(row))),
        );
      }
    }
    const contract = new Contract(world);
    for (const each of [contract.eager, contract.onDemand]) for (const kind of kinds) await each[kind].preload();
    return contract;
  }

  #ofEach(syncMode: string, more: object): Record<Kind, any> {
    return {
      users: this.create('users', syncMode, more),
      posts: this.create('posts', syncMode, more),
      comments: this.create('comments', syncMode, more),
    };
  }

  /** Creates a collection. */
  create(kind: Kind, syncMode: string, more: object = {}): any {
    const list = this.#listOf(kind);
    const id = `${kind}-${this.#count++}`;
    const options = { id, client: this.#world.client, list, fields: fields[kind], syncMode, startSync: true, ...more };
    return createCollection(cofferCollectionOptions<any>(options as never) as never);
  }

  #listOf(kind: Kind) {
    return this.#world.client.bucket('b').collection<any>(kind);
  }

  insert = async (kind: Kind, row: Row): Promise<void> => void (await this.#listOf(kind).put(row.id, stored(row)));
  update = async (kind: Kind, id: string, changes: object): Promise<void> =>
    void (await this.#listOf(kind).patch(id, stored(changes)));

  /** Deletes an object, and waits until the collections have noticed. */
  delete = async (kind: Kind, id: string): Promise<void> => {
    await this.#listOf(kind).delete(id);
    await vi.waitFor(() => {
      expect(this.eager[kind].has(id) || this.onDemand[kind].has(id)).toBe(false);
    }, patient);
  };

  async close(): Promise<void> {
    for (const each of [this.eager, this.onDemand]) for (const kind of kinds) await each[kind].cleanup();
    await this.#world.close();
  }
}

const byId = (one: Row, other: Row): number => (one.id < other.id ? -1 : 1);
export const patient = { timeout: 60_000 };

/** Returns the rows of a query with the attributes of the fixture, as the suites compare them. */
export function rowsOf(rows: Iterable<Row>): Row[] {
  return Array.from(rows, (row) =>
    structuredClone(
      Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith('$') && name !== 'last_modified')),
    ),
  ) as Row[];
}

/** Waits until a query has exactly these rows. */
export function has(query: any, expected: readonly Row[], { ordered = false } = {}): Promise<void> {
  return vi.waitFor(() => {
    const rows = rowsOf(query.values());
    expect(ordered ? rows : rows.toSorted(byId)).toStrictEqual(ordered ? expected : expected.toSorted(byId));
  }, patient);
}

export function userOf(name: string, age: number, more: object = {}): Row {
  const createdAt = new Date(1_710_381_566_535);
  return {
    id: randomUUID(),
    name,
    email: null,
    age,
    isActive: true,
    createdAt,
    metadata: null,
    deletedAt: null,
    ...more,
  };
}
