// Ten thousand clients follow one list on one server, and all of them receive a change.
import { describe, expect, it } from 'vitest';
import { StreamClients } from '../../bench/lib/streams.mjs';
import { Client } from '../support/client.ts';
import { inExtent } from '../support/extent.ts';
import { ServerProcess, Workspace } from '../support/server-process.ts';

const count = inExtent<number>(2000, 10_000);
const list = '/buckets/b/collections/c/records';

describe(`${count} streams of one list`, () => {
  it('receive a change, and leave nothing behind', { timeout: 300_000 }, async () => {
    const workspace = await Workspace.create();
    const server = await ServerProcess.start(workspace, {
      ...workspace.environment('sqlite'),
      SVC_INCLUDES: 'prometheus',
      SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
      SVC_LIVE_MAX_STREAMS_PER_ADDRESS: '0',
    });
    const clients = new StreamClients();
    try {
      const client = new Client(server.url, 'alice');
      await client.request('PUT', '/buckets/b');
      await client.request('PUT', '/buckets/b/collections/c', { permissions: { read: ['system.Everyone'] } });
      const { origin, pathname } = new URL(server.url);
      await clients.open(origin, `${pathname}${list}?_live=sse`, count);
      expect(await openStreams(client)).toBe(count);

      const created = clients.expect('"mark":"created"');
      await client.request('PUT', `${list}/x`, { data: { mark: 'created' } });
      await created;
      const deleted = clients.expect('"deleted":true');
      await client.request('DELETE', `${list}/x`);
      await deleted;

      clients.close();
      await expect.poll(() => openStreams(client), { timeout: 60_000 }).toBe(0);
    } finally {
      clients.close();
      await server.kill();
      await workspace.remove();
    }
  });
});

/** Returns the number of open streams by the metrics of the server. */
async function openStreams(client: Client): Promise<number> {
  const text = await client.text('/__metrics__');
  return Number(/live_streams\{transport="sse"\} (\d+)/.exec(text)?.[1]);
}
