// A device of a user: a collection with an outbox, behind a network that the test switches on and off.
import { NonRetriableError, startOfflineExecutor, type StorageAdapter } from '@tanstack/offline-transactions';
import {
  cofferMutationFn,
  type CofferCollectionConfig,
  type OfflineOptions,
} from '../../../packages/tanstack-db/src/index.ts';
import { FaultyProxy } from '../client/faulty-proxy.ts';
import type { Item, Items, World } from './support.ts';

export interface DeviceOptions {
  readonly user?: string;
  readonly config?: Partial<CofferCollectionConfig<Item>>;
  /** Creates the collection; that of the world by default. */
  readonly open?: (config: Partial<CofferCollectionConfig<Item>>) => Items;
  readonly outbox?: Partial<OfflineOptions>;
  /** What the outbox has kept; survives a device. */
  readonly stored?: Map<string, string>;
}

const devices: Device[] = [];

export class Device {
  readonly items: Items;
  /** The outbox, one entry for each transaction. */
  readonly stored: Map<string, string>;
  readonly proxy: FaultyProxy;
  readonly #connectivity = new Connectivity();
  readonly #executor: ReturnType<typeof startOfflineExecutor>;

  private constructor(world: World, proxy: FaultyProxy, options: DeviceOptions) {
    const { user = 'owner', config = {}, open = world.items, outbox = {}, stored = new Map() } = options;
    this.proxy = proxy;
    this.stored = stored;
    this.items = open({ client: world.clientOf(user, proxy.origin), ...config });
    this.#executor = startOfflineExecutor({
      collections: { items: this.items as never },
      mutationFns: { coffer: cofferMutationFn({ NonRetriableError, ...outbox }) } as never,
      storage: storageOf(stored),
      onlineDetector: this.#connectivity,
      leaderElection: leader,
      jitter: false,
    });
  }

  /** Starts a device, which `closeDevices` closes. */
  static async start(world: World, options: DeviceOptions = {}): Promise<Device> {
    const device = new Device(world, await FaultyProxy.start(world.service.origin), options);
    devices.push(device);
    await device.#executor.waitForInit();
    return device;
  }

  goOffline(): void {
    this.#connectivity.isOn = false;
    this.proxy.rule = () => 'cut';
    this.proxy.cutAll();
  }

  goOnline(): void {
    this.proxy.rule = undefined;
    this.items.utils.retry();
    this.#connectivity.isOn = true;
    this.#connectivity.notifyOnline();
  }

  /** Makes a change as one transaction of the outbox. The promise resolves when it has been sent. */
  readonly change = (mutate: () => void): Promise<unknown> => {
    const transaction = this.#executor.createOfflineTransaction({ mutationFnName: 'coffer', autoCommit: false });
    transaction.mutate(mutate);
    const done = transaction.commit();
    done.catch(() => undefined);
    return done;
  };

  /** Ends the application. What the outbox has kept stays. */
  async close(): Promise<void> {
    this.#executor.dispose();
    await this.items.cleanup();
    await this.proxy.close();
  }
}

/** Closes all devices that the test has not closed. */
export async function closeDevices(): Promise<void> {
  await Promise.all(devices.splice(0).map((device) => device.close().catch(() => undefined)));
}

/** Whether the browser believes that it is online, under control of the test. */
class Connectivity {
  isOn = true;
  readonly #listeners = new Set<() => void>();
  isOnline = (): boolean => this.isOn;
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  notifyOnline = (): void => this.#listeners.forEach((listener) => listener());
  dispose = (): void => this.#listeners.clear();
}

function storageOf(stored: Map<string, string>): StorageAdapter {
  return {
    get: async (key) => stored.get(key) ?? null,
    set: async (key, value) => void stored.set(key, value),
    delete: async (key) => void stored.delete(key),
    keys: async () => [...stored.keys()],
    clear: async () => stored.clear(),
  };
}

const leader = {
  requestLeadership: async () => true,
  releaseLeadership: () => undefined,
  isLeader: () => true,
  onLeadershipChange: () => () => undefined,
};
