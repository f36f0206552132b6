// A service with one collection, and collections of TanStack DB on it.
import { setTimeout as pause } from 'node:timers/promises';
import { basic, Coffer, type Collection as Records } from '@coffer/client';
import { vi } from 'vitest';
import { createCollection, type Collection } from '@tanstack/db';
import {
  cofferCollectionOptions,
  type CofferCollectionConfig,
  type CofferUtils,
} from '../../../packages/tanstack-db/src/index.ts';
import type { TestBackend, TestService, TestServiceOptions } from '../../../src/testing/index.ts';
import { allBackends } from '../../support/backends.ts';

/** A record of most tests. */
export interface Item {
  id: string;
  name?: string | null;
  n?: number | null;
  done?: boolean;
  tags?: string[];
  at?: Date | null;
  nested?: { a?: number | null } | null;
  last_modified?: number;
}

export type Items = Collection<Item, string, CofferUtils>;

export interface World {
  readonly service: TestService;
  /** The client of the owner, for writes out of band. */
  readonly client: Coffer;
  readonly records: Records<Record<string, any>>;
  /** Creates a collection, as the owner unless the options have another client. */
  items(config?: Partial<CofferCollectionConfig<Item>>): Items;
  /** Creates a client as this user, at another address of the service if given. */
  clientOf(user: string, origin?: string): Coffer;
  /** Number of requests that clients of this world have sent, by method and path without query. */
  readonly requests: { readonly method: string; readonly url: URL }[];
  close(): Promise<void>;
}

export const memory: TestBackend = backendNamed('memory');

export function backendNamed(name: string): TestBackend {
  const backend = allBackends.find((candidate) => candidate.name === name);
  if (backend === undefined) throw new Error(`No backend ${name}.`);
  return backend;
}

let collections = 0;

/** Starts a service with the bucket `b` and the collection `c`, which belong to the user `owner`. */
export async function startWorld(
  backend: TestBackend = memory,
  settings: Record<string, string> = {},
  more: TestServiceOptions = {},
): Promise<World> {
  const service = await backend.start({ settings, ...more });
  const requests: World['requests'] = [];
  const counted: typeof fetch = (input, init) => {
    const url = new URL(String(input instanceof Request ? input.url : input));
    requests.push({ method: init?.method ?? 'GET', url });
    return fetch(input, init);
  };
  const clientOf = (user: string, origin = service.origin): Coffer =>
    new Coffer(origin, { auth: basic(user, `secret of ${user}`), fetch: counted, maxPauseMs: 200 });
  const client = clientOf('owner');
  await client.buckets.put('b', {});
  await client.bucket('b').collections.put('c', {});
  const records = client.bucket('b').collection<Record<string, any>>('c');
  const open: Items[] = [];
  return {
    service,
    client,
    records,
    requests,
    clientOf,
    items(config = {}) {
      const options = { id: `items-${collections++}`, client, list: records, startSync: true, ...config };
      const collection = createCollection(cofferCollectionOptions<Item>(options)) as unknown as Items;
      open.push(collection);
      return collection;
    },
    async close() {
      // TanStack DB reports queries that lose their source.
      const quiet = vi.spyOn(console, 'error').mockReturnValue();
      await Promise.all(open.map((collection) => collection.cleanup()));
      quiet.mockRestore();
      // A test may have closed it.
      await service.close().catch(() => undefined);
    },
  };
}

/** Stores records, as another client would. */
export async function fill(
  world: World,
  records: readonly ({ readonly id: string } & Record<string, unknown>)[],
): Promise<void> {
  for (let at = 0; at < records.length; at += 25) {
    const chunk = records.slice(at, at + 25);
    const results = await world.client.batch((root) =>
      chunk.map((record) => root.list<Record<string, any>>(world.records.path).put(record.id, record)),
    );
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
}

/** Waits until a condition holds. The limit is that of the test. */
export async function until(condition: () => unknown): Promise<void> {
  while (!(await condition())) await pause(5);
}
