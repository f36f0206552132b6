// Hints over Redis: which connections they make, and how they go on when a server is gone.
import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findRedisAddress } from '../../../src/backends/redis/address.ts';
import { openRedisDatabase } from '../../../src/backends/redis/database.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/contracts/logger.ts';
import { openInspector, RedisProcess } from '../../support/redis.ts';
import { RedisCluster } from '../../support/redis-cluster.ts';
import { inExtent } from '../../support/extent.ts';
import type { ChangeHint, ChangeHints } from '../../../src/testing/contract/plain-contracts.ts';

async function openHints(url: string, prefix: string, logger = silentLogger): Promise<ChangeHints> {
  const database = await openRedisDatabase({ address: findRedisAddress(url)!, clock: systemClock, prefix });
  const hints = database.openHints({ logger });
  onTestFinished(async () => {
    await hints.close();
    await database.close();
  });
  return hints;
}

/** Collects hints; `next` resolves with one that was not returned before. */
function collect(hints: ChangeHints): { readonly next: () => Promise<ChangeHint> } {
  const received: ChangeHint[] = [];
  let wake = (): void => {};
  hints.subscribe((some) => {
    received.push(...some);
    wake();
  });
  return {
    async next() {
      while (received.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return received.shift()!;
    },
  };
}

const anything: ChangeHint = { any: true };

/** Publishes until the hint arrives. What is sent into an outage arrives late, or becomes `any`. */
async function requireArrival(sender: ChangeHints, inbox: ReturnType<typeof collect>, below: string): Promise<void> {
  for (;;) {
    sender.publish([{ below }]);
    const hint = await inbox.next();
    if ('below' in hint && hint.below === below) return;
  }
}

describe('hints on a server', () => {
  test('make a connection of their own for what arrives, and close it', async () => {
    const server = await RedisProcess.start();
    onTestFinished(() => server.remove());
    const inspector = openInspector(server.url);
    onTestFinished(() => inspector.disconnect());
    const subscribers = async (): Promise<number> =>
      String(await inspector.call('CLIENT', 'LIST', 'TYPE', 'pubsub'))
        .split('\n')
        .filter(Boolean).length;
    const prefix = `test-${randomUUID()}:`;
    const [sender, receiver] = [await openHints(server.url, prefix), await openHints(server.url, prefix)];
    sender.publish([{ flushed: true }]);
    expect(await subscribers()).toBe(0);
    const inbox = collect(receiver);
    // What was published may be under way until the connection listens, and then arrives first.
    while (!('any' in (await inbox.next())));
    expect(await subscribers()).toBe(1);
    await receiver.close();
    while ((await subscribers()) > 0);
  });

  test('of another database of the server do not arrive', async () => {
    const server = await RedisProcess.start();
    onTestFinished(() => server.remove());
    const prefix = `test-${randomUUID()}:`;
    const receiver = await openHints(server.url, prefix);
    const inbox = collect(receiver);
    expect(await inbox.next()).toEqual(anything);
    const stranger = await openHints(server.url.replace(/\/0$/, '/7'), prefix);
    stranger.publish([{ below: '/strange' }]);
    await stranger.close();
    (await openHints(server.url, prefix)).publish([{ below: '/own' }]);
    expect(await inbox.next()).toEqual({ below: '/own' });
  });

  test('arrive again when the server is back', async () => {
    const server = await RedisProcess.start();
    onTestFinished(() => server.remove());
    const prefix = `test-${randomUUID()}:`;
    const [sender, receiver] = [await openHints(server.url, prefix), await openHints(server.url, prefix)];
    const inbox = collect(receiver);
    expect(await inbox.next()).toEqual(anything);
    await server.kill();
    sender.publish([{ below: '/lost' }]);
    await server.start();
    while (!('any' in (await inbox.next())));
    await requireArrival(sender, inbox, '/back');
  });
});

// A cluster starts in many seconds, so only the complete run has one.
describe.each(inExtent([], ['cluster']))('hints on a %s', () => {
  test('arrive by way of another node when one is gone', { timeout: 120_000 }, async () => {
    const cluster = await RedisCluster.start();
    onTestFinished(() => cluster.remove());
    const prefix = `test-${randomUUID()}:`;
    const [sender, receiver] = [await openHints(cluster.url, prefix), await openHints(cluster.url, prefix)];
    const inbox = collect(receiver);
    expect(await inbox.next()).toEqual(anything);
    await requireArrival(sender, inbox, '/before');
    let listening: RedisProcess | undefined;
    for (const node of cluster.nodes) {
      const inspector = openInspector(node.url);
      if (String(await inspector.call('CLIENT', 'LIST', 'TYPE', 'pubsub')) !== '') listening = node;
      inspector.disconnect();
    }
    await listening!.kill();
    expect(await inbox.next()).toEqual(anything);
    await requireArrival(sender, inbox, '/after');
  });
});

test('a password that the server refuses does not appear in the log', async () => {
  const password = 'old-secret';
  const server = await RedisProcess.start();
  onTestFinished(() => server.remove());
  const inspector = openInspector(server.url);
  onTestFinished(() => inspector.disconnect());
  await inspector.config('SET', 'requirepass', password);
  let log: (fields: object | string) => void = () => {};
  const logged = new Promise<object | string>((resolve) => {
    log = resolve;
  });
  const url = server.url.replace('://', `://:${password}@`);
  const hints = await openHints(url, `test-${randomUUID()}:`, { ...silentLogger, warn: log });
  await inspector.config('SET', 'requirepass', 'new-secret');
  hints.subscribe(() => {});
  const line = inspect(await logged, { depth: 10 });
  expect(line).toMatch(/WRONGPASS|NOAUTH/);
  expect(line).not.toContain(password);
});
