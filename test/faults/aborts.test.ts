// Clients that go away in the middle of a request: it is done wholly or not at all, and leaves neither an open transaction
// nor a connection behind.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { ServerProcess } from '../support/server-process.ts';
import { startPostgresql } from './on-postgresql.ts';
import { startRedis } from './on-redis.ts';

const aborts = 120;
/** Long time-outs: no backend fails here, and a busy machine must not look like a failure. */
const patience = Object.fromEntries(
  [
    ...['STORAGE', 'PERMISSION', 'CACHE'].map((kind) => `SVC_${kind}_POOL_TIMEOUT`),
    'SVC_POSTGRESQL_STATEMENT_TIMEOUT_SECONDS',
    'SVC_POSTGRESQL_LOCK_TIMEOUT_SECONDS',
  ].map((name) => [name, '30']),
);
const group = { data: { members: [] } };
const bucket = '/buckets/b';
const near = `${bucket}/collections/near/records`;
const far = `${bucket}/collections/far/records`;

describe.each([
  { backend: 'PostgreSQL', open: startPostgresql },
  { backend: 'Redis', open: startRedis },
])('clients on $backend that go away in the middle of a write', ({ open }) => {
  let place: Awaited<ReturnType<typeof startPostgresql>> | Awaited<ReturnType<typeof startRedis>>;
  let service: ServerProcess;

  beforeAll(async () => {
    place = await open();
    service = await ServerProcess.start(place.workspace, { ...place.environment, ...patience });
    const client = new Client(service.url, 'alice');
    for (const path of [bucket, near.replace('/records', ''), far.replace('/records', '')]) {
      expect((await client.request('PUT', path)).status).toBe(201);
    }
  });
  afterAll(async () => {
    await service.stop();
    await place.remove();
  });

  test('leave nothing half done, and no connection in use.', async () => {
    const sent = new Map<string, 'whole' | 'part'>();
    const abort = async (id: string): Promise<unknown> => sent.set(id, await abortedBatch(service.url, id));
    await Promise.all(Array.from({ length: aborts }, (_, n) => abort(`a${n}`)));
    // As many writers at once as there are connections, and each gets one.
    const client = new Client(service.url, 'alice');
    const writers = Array.from({ length: 6 }, (_, n) => client.request('PUT', `${bucket}/groups/after${n}`, group));
    expect((await Promise.all(writers)).map(({ status }) => status)).toEqual([201, 201, 201, 201, 201, 201]);
    // The service ends when everything in flight is done, and no connection is in use.
    expect(await service.stop()).toBe(0);
    expect(service.log.filter(({ Severity }) => Severity <= 3)).toEqual([]);
    service = await ServerProcess.start(place.workspace, { ...place.environment, ...patience });
    const [inNear, inFar] = [await namesIn(service, near), await namesIn(service, far)];
    expect(inNear).toEqual(inFar);
    for (const name of inNear) expect(sent.get(name)).toBe('whole');
    expect(inNear.length).toBeGreaterThan(0);
    console.log(`${aborts} batches aborted, ${inNear.length} of them done`);
  });
});

/** Returns the ids of the records that any caller may read. */
async function namesIn(service: ServerProcess, list: string): Promise<readonly string[]> {
  const records = await new Client(service.url, 'somebody').readAll(list);
  return records.map(({ id }) => id as string).toSorted();
}

/** Sends a batch, or a part of it, and breaks the connection at some moment. */
async function abortedBatch(url: string, id: string): Promise<'whole' | 'part'> {
  const permissions = { read: ['system.Everyone'] };
  const requests = [near, far].map((list) => ({ path: `${list}/${id}`, body: { data: { id }, permissions } }));
  const body = JSON.stringify({ defaults: { method: 'PUT' }, requests });
  const { hostname, port } = new URL(url);
  const socket: Socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const head = [
    'POST /v1/batch HTTP/1.1',
    `Host: ${hostname}`,
    `Authorization: Basic ${Buffer.from('alice:secret').toString('base64')}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  const isWhole = Math.random() < 0.8;
  socket.write(`${head.join('\r\n')}\r\n\r\n${isWhole ? body : body.slice(0, body.length / 2)}`);
  await pause(Math.random() * 300);
  socket.resetAndDestroy();
  return isWhole ? 'whole' : 'part';
}
