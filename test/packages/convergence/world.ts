// A service for many histories, which can be restarted, behind a network that makes mistakes.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { basic, Coffer } from '@coffer/client';
import { authorizationOf, startTestService } from '../../../src/testing/index.ts';
import { databaseSettings, postgresqlSettings } from '../../support/backends.ts';
import { borrowDatabase } from '../../support/postgresql.ts';
import { ServerProcess, Workspace } from '../../support/server-process.ts';
import { FaultyProxy } from '../client/faulty-proxy.ts';
import type { Network } from './network.ts';
import type { Item } from './replica.ts';

/** `sqlite, killed`: a process of its own, which ends by `kill -9` at each restart. */
export const backends = ['sqlite', 'sqlite, killed', 'postgresql'] as const;
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
  readonly #store: Store;
  #service: Service;
  /** Names of users by their ids. */
  readonly #users = new Map<string, string>();

  private constructor(store: Store, service: Service, proxy: FaultyProxy) {
    this.#store = store;
    this.#service = service;
    this.proxy = proxy;
  }

  static async start(backend: Backend, users: readonly string[]): Promise<World> {
    const store = await openers[backend]();
    const service = await store.start();
    const world = new World(store, service, await FaultyProxy.start(service.origin));
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

  /** Stops or kills the service, and starts it again at another port. Requests meanwhile fail. */
  async restart(): Promise<void> {
    this.proxy.cutAll();
    await this.#service.close();
    this.#service = await this.#store.start();
    this.proxy.target = this.#service.origin;
  }

  async close(): Promise<void> {
    await this.proxy.close();
    await this.#service.close();
    await this.#store.remove();
  }

  /** A client without the network of the histories. */
  #direct(user: string): Coffer {
    return new Coffer(this.#service.origin, { auth: authOf(user) });
  }
}

/** Same credentials as those of `authorizationOf`. */
const authOf = (user: string) => basic(user, `secret of ${user}`);
export { authorizationOf };

interface Service {
  readonly origin: string;
  readonly close: () => Promise<unknown>;
}

/** Where a service keeps its data. */
interface Store {
  readonly start: () => Promise<Service>;
  readonly remove: () => Promise<void>;
}

const openers: Readonly<Record<Backend, () => Promise<Store>>> = {
  async sqlite() {
    const folder = await mkdtemp(path.join(tmpdir(), 'coffer-convergence-'));
    const own = { sqlite_synchronous: 'OFF', ...databaseSettings('sqlite', path.join(folder, 'coffer.sqlite3')) };
    return { start: () => startHere(own), remove: () => rm(folder, { recursive: true, force: true }) };
  },
  async 'sqlite, killed'() {
    const workspace = await Workspace.create();
    const environment = { ...workspace.environment('sqlite'), SVC_INCLUDES: 'history' };
    const start = async (): Promise<Service> => {
      const server = await ServerProcess.start(workspace, environment);
      return { origin: new URL(server.url).origin, close: () => server.kill() };
    };
    return { start, remove: () => workspace.remove() };
  },
  async postgresql() {
    const { url, giveBack } = await borrowDatabase();
    return { start: () => startHere(postgresqlSettings(url)), remove: giveBack };
  },
};

function startHere(own: Readonly<Record<string, string>>): Promise<Service> {
  return startTestService({ settings: { ...own, includes: 'history' } });
}
