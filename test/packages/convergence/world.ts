// A service for many histories, which can be restarted, behind a network that makes mistakes.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { basic, Coffer } from '@coffer/client';
import { authorizationOf, startTestService, type TestService } from '../../../src/testing/index.ts';
import { databaseSettings, postgresqlSettings } from '../../support/backends.ts';
import { borrowDatabase } from '../../support/postgresql.ts';
import { FaultyProxy } from '../client/faulty-proxy.ts';
import type { Network } from './network.ts';
import type { Item } from './replica.ts';

export const backends = ['sqlite', 'postgresql'] as const;
export type Backend = (typeof backends)[number];

/** A state of a record on the service, the oldest first. */
export interface Version {
  readonly user: string;
  readonly id: string;
  /** Absent after a deletion. */
  readonly item: Item | undefined;
}

/** Number of buckets. Stores of clients may outlive a world. */
let names = 0;

export class World {
  readonly proxy: FaultyProxy;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #cleanUp: () => Promise<void>;
  #service: TestService;
  /** Names of users by their ids. */
  readonly #users = new Map<string, string>();

  private constructor(parts: {
    service: TestService;
    proxy: FaultyProxy;
    settings: Readonly<Record<string, string>>;
    cleanUp: () => Promise<void>;
  }) {
    this.#service = parts.service;
    this.proxy = parts.proxy;
    this.#settings = parts.settings;
    this.#cleanUp = parts.cleanUp;
  }

  static async start(backend: Backend, users: readonly string[]): Promise<World> {
    const { own, cleanUp } = backend === 'sqlite' ? await sqlite() : await postgresql();
    const settings = { ...own, includes: 'history' };
    const service = await startTestService({ settings });
    const world = new World({ service, proxy: await FaultyProxy.start(service.origin), settings, cleanUp });
    for (const user of users) world.#users.set((await world.#direct(user).info()).user!.id, user);
    return world;
  }

  get remote(): string {
    return `${this.proxy.origin}/v1`;
  }

  /** Creates a bucket with the collection `items`, which all users may write. Returns its name. */
  async newBucket(): Promise<string> {
    const name = `h${names++}-${process.pid}`;
    const owner = this.#direct('owner');
    await owner.buckets.put(name, {}, { permissions: { write: ['system.Authenticated'] } });
    await owner.bucket(name).collections.put('items', {});
    return name;
  }

  clientOf(user: string, network: Network): Coffer {
    return new Coffer(this.proxy.origin, { auth: authOf(user), fetch: network.fetch, maxPauseMs: 10 });
  }

  /** Returns the records by id. */
  async records(bucket: string): Promise<Map<string, Item & { readonly last_modified: number }>> {
    const { data } = await this.#direct('owner').bucket(bucket).collection<Item>('items').list().all();
    return new Map(data.map((record) => [record.id, record]));
  }

  /** Returns all states that the records have had. */
  async versions(bucket: string): Promise<Version[]> {
    const { history } = this.#direct('owner').bucket(bucket);
    const { data } = await history.list({ filter: { resource_name: 'record' }, sort: ['last_modified'] }).all();
    return data.map(({ action, user_id, record_id, target }) => ({
      user: this.#users.get(user_id ?? '')!,
      id: record_id!,
      item: action === 'delete' ? undefined : (target.data as unknown as Item),
    }));
  }

  /** Stops the service, and starts it again at another port. Requests meanwhile fail. */
  async restart(): Promise<void> {
    this.proxy.cutAll();
    await this.#service.close();
    this.#service = await startTestService({ settings: this.#settings });
    this.proxy.target = this.#service.origin;
  }

  async close(): Promise<void> {
    await this.proxy.close();
    await this.#service.close();
    await this.#cleanUp();
  }

  /** A client without the network of the histories. */
  #direct(user: string): Coffer {
    return new Coffer(this.#service.origin, { auth: authOf(user) });
  }
}

/** Same credentials as those of `authorizationOf`. */
const authOf = (user: string) => basic(user, `secret of ${user}`);
export { authorizationOf };

interface Store {
  readonly own: Readonly<Record<string, string>>;
  readonly cleanUp: () => Promise<void>;
}

async function sqlite(): Promise<Store> {
  const folder = await mkdtemp(path.join(tmpdir(), 'coffer-convergence-'));
  const own = { sqlite_synchronous: 'OFF', ...databaseSettings('sqlite', path.join(folder, 'coffer.sqlite3')) };
  return { own, cleanUp: () => rm(folder, { recursive: true, force: true }) };
}

async function postgresql(): Promise<Store> {
  const { url, giveBack } = await borrowDatabase();
  return { own: postgresqlSettings(url), cleanUp: giveBack };
}
