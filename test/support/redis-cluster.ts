// A real Redis Cluster on the loopback address: six nodes, three of which replicate the others.
import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort, RedisProcess } from './redis.ts';

const masterCount = 3;
const slotCount = 16_384;
/** While the nodes meet: as long they wait before they try anew. */
const joiningTimeoutMs = 2000;
/** Interval between two questions to a node about its state. The nodes need the processor meanwhile. */
const pollMs = 20;

/** Starts a node. If another process has taken its ports meanwhile, it ends at once and is started again on others. */
async function startNode(options: readonly string[], attempts = 5): Promise<RedisProcess> {
  try {
    // The default port of the cluster bus is too high for some of the ports that the system draws.
    return await RedisProcess.start([...options, '--cluster-port', String(await freePort())]);
  } catch (error) {
    if (attempts === 1) throw error;
    return startNode(options, attempts - 1);
  }
}

export interface RedisClusterOptions {
  /**
   * How long a node may be silent before a replica takes its place. The default is long: on a busy machine a node that
   * gets no time of the processor is not to be replaced in the middle of a test.
   */
  readonly nodeTimeoutMs?: number;
  /** More options of the configuration of each node. */
  readonly options?: readonly string[];
}

export class RedisCluster {
  /** The masters at first, then a replica of each. */
  readonly nodes: readonly RedisProcess[];

  private constructor(nodes: readonly RedisProcess[]) {
    this.nodes = nodes;
  }

  /** Starts the nodes and waits until they agree. */
  static async start({ nodeTimeoutMs = 30_000, options: more = [] }: RedisClusterOptions = {}): Promise<RedisCluster> {
    const joining = ['--cluster-enabled', 'yes', '--cluster-node-timeout', String(joiningTimeoutMs)];
    // By default, a master waits 5 s for more replicas before it sends its data.
    const options = [...joining, '--repl-diskless-sync-delay', '0', ...more];
    const nodes = await Promise.all(Array.from({ length: 2 * masterCount }, () => startNode(options)));
    const cluster = new RedisCluster(nodes);
    await cluster.#join(nodeTimeoutMs);
    return cluster;
  }

  /** URL that names one master only; the others are found. */
  get url(): string {
    return `redis+cluster://127.0.0.1:${this.nodes[0]!.port}`;
  }

  /** Waits until the replicas have what the masters had when this was called. */
  async replicated(): Promise<void> {
    for (const node of this.nodes.slice(0, masterCount)) {
      const client = new Redis(node.url);
      await client.call('WAIT', [1, 10_000]);
      client.disconnect();
    }
  }

  /** Empties the masters of data and of scripts. */
  async forget(): Promise<void> {
    await Promise.all(
      this.nodes.slice(0, masterCount).map(async ({ url }) => {
        const client = new Redis(url);
        await client.flushall();
        await client.script('FLUSH');
        client.disconnect();
      }),
    );
  }

  /**
   * Moves a slot to the next master, key by key.
   *
   * @param whenMoving called before each key, and once when the nodes have begun
   */
  async moveSlot(slot: number, whenMoving: () => Promise<void> = async () => {}): Promise<void> {
    const masters = this.nodes.slice(0, masterCount).map(({ url }) => new Redis(url));
    try {
      const ids = await Promise.all(masters.map((master) => master.cluster('MYID')));
      const owned = await Promise.all(
        masters.map(async (master) => ownsSlot(String(await master.cluster('NODES')), slot)),
      );
      const from = owned.indexOf(true);
      const to = (from + 1) % masterCount;
      const [source, target] = [masters[from]!, masters[to]!];
      await target.cluster('SETSLOT', slot, 'IMPORTING', ids[from]!);
      await source.cluster('SETSLOT', slot, 'MIGRATING', ids[to]!);
      const keys = async (): Promise<readonly string[]> => source.cluster('GETKEYSINSLOT', slot, 1);
      for (let [key] = await keys(); key !== undefined; [key] = await keys()) {
        await whenMoving();
        await source.migrate('127.0.0.1', this.nodes[to]!.port, key, 0, 10_000);
      }
      await whenMoving();
      for (const master of [target, source, ...masters]) await master.cluster('SETSLOT', slot, 'NODE', ids[to]!);
    } finally {
      for (const master of masters) master.disconnect();
    }
  }

  /** Lets a replica take the place of its master in good order; resolves when it has. */
  async failOver(replica: number): Promise<void> {
    const clients = this.nodes.map(({ url }) => new Redis(url));
    const client = clients[replica]!;
    try {
      // Masters do not vote for a replica that does not know the last failover, and vote again only after a long time.
      const epochs = new Set<string | undefined>();
      do {
        epochs.clear();
        for (const each of clients) {
          epochs.add(/^cluster_current_epoch:(\d+)/m.exec(await each.cluster('INFO'))?.[1]);
        }
      } while (epochs.size > 1);
      while (!(await client.info('replication')).includes('master_link_status:up')) await client.ping();
      await client.cluster('FAILOVER');
      while (!(await client.info('replication')).includes('role:master')) await client.ping();
    } finally {
      for (const each of clients) each.disconnect();
    }
  }

  async remove(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.remove()));
  }

  async #join(nodeTimeoutMs: number): Promise<void> {
    const clients = this.nodes.map(({ url }) => new Redis(url));
    const [first, ...others] = clients;
    try {
      const size = Math.ceil(slotCount / masterCount);
      for (const [index, client] of clients.slice(0, masterCount).entries()) {
        const last = Math.min((index + 1) * size, slotCount) - 1;
        await client.call('CLUSTER', ['ADDSLOTSRANGE', index * size, last]);
      }
      const busPorts = await Promise.all(clients.map(busPort));
      for (const [index] of others.entries()) {
        await first!.call('CLUSTER', ['MEET', '127.0.0.1', this.nodes[index + 1]!.port, busPorts[index + 1]!]);
      }
      const ids = (await Promise.all(clients.map((client) => client.call('CLUSTER', ['MYID'])))) as string[];
      await until(clients, (info) => info.includes(`cluster_known_nodes:${clients.length}`));
      for (const [index, client] of clients.slice(masterCount).entries()) {
        await client.call('CLUSTER', ['REPLICATE', ids[index]!]);
      }
      await until(clients, (info) => info.includes('cluster_state:ok'));
      // A replica that has never been in step does not take over.
      for (const replica of clients.slice(masterCount)) {
        while (!(await replica.info('replication')).includes('master_link_status:up')) await wait(pollMs);
      }
      await Promise.all(clients.map((client) => client.config('SET', 'cluster-node-timeout', nodeTimeoutMs)));
    } finally {
      for (const client of clients) client.disconnect();
    }
  }
}

/** Whether the node that has described the cluster owns the slot. */
function ownsSlot(description: string, slot: number): boolean {
  const own = description.split('\n').find((line) => line.includes('myself')) ?? '';
  // Behind eight other fields; slots on their way are in brackets.
  const ranges = own
    .split(' ')
    .slice(8)
    .filter((range) => !range.startsWith('['));
  return ranges.some((range) => {
    const [first = NaN, last = first] = range.split('-').map(Number);
    return slot >= first && slot <= last;
  });
}

async function busPort(client: Redis): Promise<string> {
  const [, port = ''] = (await client.call('CONFIG', ['GET', 'cluster-port'])) as string[];
  return port;
}

/** Resolves once the information of every node is as wanted. */
async function until(clients: readonly Redis[], isWanted: (info: string) => boolean): Promise<void> {
  for (const client of clients) {
    while (!isWanted(String(await client.call('CLUSTER', ['INFO'])))) await wait(pollMs);
  }
}
