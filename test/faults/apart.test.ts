// Objects and cache on different servers, of which one fails: the heartbeat names the one, and what does not need it goes on.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { cloneDatabase } from '../support/postgresql.ts';
import { ServerProcess, Workspace } from '../support/server-process.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { environmentFor } from './fault.ts';
import { requireRedisUrl } from '../support/redis.ts';

let workspace: Workspace;
let service: ServerProcess;
let toPostgresql: TcpProxy;
let toRedis: TcpProxy;
let dropDatabase: () => Promise<void>;

/** The address of the server behind a proxy that can cut connections. */
async function through(address: string): Promise<{ readonly network: TcpProxy; readonly url: string }> {
  const url = new URL(address);
  const network = await TcpProxy.to(Number(url.port));
  url.port = String(network.port);
  return { network, url: url.href };
}

beforeAll(async () => {
  workspace = await Workspace.create();
  const database = await cloneDatabase();
  dropDatabase = database.drop;
  const [postgresql, redis] = [await through(database.url), await through(requireRedisUrl())];
  [toPostgresql, toRedis] = [postgresql.network, redis.network];
  service = await ServerProcess.start(workspace, {
    ...environmentFor(workspace, 'postgresql', postgresql.url),
    SVC_CACHE_BACKEND: 'redis',
    SVC_CACHE_URL: redis.url,
  });
});
afterAll(async () => {
  await service.stop();
  await Promise.all([toPostgresql.close(), toRedis.close()]);
  await dropDatabase();
  await workspace.remove();
});

test('a cache that is away is named by the heartbeat, and objects are served.', async () => {
  const client = new Client(service.url, 'alice');
  toRedis.refuse();
  const heartbeat = await client.request('GET', '/__heartbeat__');
  expect([heartbeat.status, heartbeat.body]).toEqual([503, { storage: true, permission: true, cache: false }]);
  expect((await client.request('PUT', '/buckets/b')).status).toBe(201);
  expect((await client.request('GET', '/buckets/b')).status).toBe(200);
  toRedis.mend();
  await healed(client);
});

test('the heartbeat names an unreachable database, and the check of the load balancer does not.', async () => {
  const client = new Client(service.url, 'alice');
  toPostgresql.fallSilent();
  const heartbeat = await client.request('GET', '/__heartbeat__');
  expect([heartbeat.status, heartbeat.body]).toEqual([503, { storage: false, permission: false, cache: true }]);
  expect((await client.request('GET', '/__lbheartbeat__')).status).toBe(200);
  expect((await fetch(`${service.url}/`)).status).toBe(200);
  toPostgresql.mend();
  await healed(client);
});

async function healed(client: Client): Promise<void> {
  let status: number;
  do {
    ({ status } = await client.request('GET', '/__heartbeat__'));
  } while (status !== 200);
}
