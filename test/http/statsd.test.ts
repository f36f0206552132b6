// Metrics over UDP to StatsD: names, labels and types of the lines.
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startTestService } from '../../src/testing/index.ts';

interface Receiver {
  readonly url: string;
  /** Resolves to all received lines as soon as one matches. */
  lines(pattern: RegExp): Promise<readonly string[]>;
}

async function startReceiver(): Promise<Receiver> {
  const socket: Socket = createSocket('udp4');
  onTestFinished(() => void socket.close());
  const lines: string[] = [];
  socket.on('message', (datagram) => lines.push(...datagram.toString().split('\n')));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    url: `udp://127.0.0.1:${socket.address().port}`,
    async lines(pattern) {
      while (!lines.some((line) => pattern.test(line))) await once(socket, 'message');
      return lines;
    },
  };
}

describe('StatsD', () => {
  it('receives requests, backend calls, users and sizes, with labels in the names.', async () => {
    const receiver = await startReceiver();
    const settings = { includes: 'statsd', statsd_url: receiver.url, statsd_prefix: 'shop.store' };
    const service = await startTestService({ settings });
    await service.asUser('alice').request('PUT', '/v1/buckets/food-1');
    await service.close();
    const lines = await receiver.lines(/request\.summary/);
    const place = 'method.put.endpoint.bucket-object.bucket_id.food-1';
    expect(lines).toContain(`shop.store.request.summary.${place}.status.201:1|c`);
    expect(lines).toContainEqual(
      expect.stringMatching(new RegExp(`^shop\\.store\\.request\\.duration\\.seconds\\.${place}:[\\d.]+\\|ms$`)),
    );
    expect(lines).toContainEqual(
      expect.stringMatching(new RegExp(`^shop\\.store\\.request\\.size\\.${place}:\\d+\\|g$`)),
    );
    expect(lines).toContainEqual(
      expect.stringMatching(/^shop\.store\.users:auth\.basicauth\.userid\.[0-9a-f]{64}\|s$/),
    );
    expect(lines).toContainEqual(
      expect.stringMatching(/^shop\.store\.backend\.storage\.seconds\.method\.commit:[\d.]+\|ms$/),
    );
    for (const line of lines) expect(line).toMatch(/^[\w.~()+-]+:[\w.-]+\|(?:c|ms|g|s)$/);
  });

  it('gets the configured project name as prefix.', async () => {
    const receiver = await startReceiver();
    const settings = { includes: 'statsd', statsd_url: receiver.url, statsd_prefix: 'other', project_name: 'my shop' };
    const service = await startTestService({ settings });
    await service.request('GET', '/v1/');
    await service.close();
    expect(await receiver.lines(/request/)).toContainEqual(expect.stringMatching(/^my_shop\.request\.summary\./));
  });

  it('gets the software name as prefix by default, and needs no name in includes, as in Kinto.', async () => {
    const receiver = await startReceiver();
    const service = await startTestService({ settings: { statsd_url: receiver.url } });
    await service.request('GET', '/v1/');
    await service.close();
    expect(await receiver.lines(/request/)).toContainEqual(expect.stringMatching(/^coffer\.request\.summary\./));
  });

  it('requires a URL, and cannot be combined with Prometheus.', async () => {
    await expect(startTestService({ settings: { includes: 'statsd' } })).rejects.toThrow('statsd_url');
    const settings = { statsd_url: 'udp://127.0.0.1:1' };
    const both = startTestService({ settings: { ...settings, includes: 'statsd prometheus' } });
    await expect(both).rejects.toThrow('contains both prometheus and statsd');
    await (await startTestService({ settings: { ...settings, includes: 'prometheus' } })).close();
    await expect(startTestService({ settings: { includes: 'statsd', statsd_url: 'http://x' } })).rejects.toThrow(
      'udp://host:port',
    );
  });
});
