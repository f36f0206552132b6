// A real Redis Cluster on the loopback address: six nodes, three of which replicate the others.
import { Redis } from 'ioredis';
import { freePort, RedisProcess } from './redis.ts';

const masterCount = 3;
const slotCount = 16_384;

/** Starts a node; one whose ports somebody else has taken meanwhile ends at once, and is started again on others. */
async function startNode(options: readonly string[], attempts = 5): Promise<RedisProcess> {
  try {
    // The default port of the cluster bus is too high for some of the ports that the system draws.
    return await RedisProcess.start([...options, '--cluster-port', String(await freePort())]);
  } catch (error) {
    if (attempts === 1) throw error;
    return startNode(options, attempts - 1);
  }
}

export class RedisCluster {
  readonly nodes: readonly RedisProcess[];

  private constructor(nodes: readonly RedisProcess[]) {
    this.nodes = nodes;
  }

  /** Starts the nodes and waits until they agree. */
  static async start(): Promise<RedisCluster> {
    const options = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'];
    const nodes = await Promise.all(Array.from({ length: 2 * masterCount }, () => startNode(options)));
    const cluster = new RedisCluster(nodes);
    await cluster.#join();
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

  async remove(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.remove()));
  }

  async #join(): Promise<void> {
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
        while (!(await replica.info('replication')).includes('master_link_status:up')) await replica.ping();
      }
    } finally {
      for (const client of clients) client.disconnect();
    }
  }
}

async function busPort(client: Redis): Promise<string> {
  const [, port = ''] = (await client.call('CONFIG', ['GET', 'cluster-port'])) as string[];
  return port;
}

/** Resolves once the information of every node is as wanted. */
async function until(clients: readonly Redis[], isWanted: (info: string) => boolean): Promise<void> {
  for (const client of clients) {
    while (!isWanted(String(await client.call('CLUSTER', ['INFO'])))) await client.ping();
  }
}
