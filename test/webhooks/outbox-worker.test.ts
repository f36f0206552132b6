// The times of stored deliveries: those of leases and retries are respected, those of a clock that was wrong are not.
import { expect, it, onTestFinished } from 'vitest';
import { silentLogger } from '../../src/contracts/logger.ts';
import type { ListKey } from '../../src/core/objects/stored.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import { runInUnit } from '../../src/engine/retry.ts';
import { definePlugin, type PluginHost } from '../../src/http/plugin.ts';
import { createTestClock, startTestService } from '../../src/testing/index.ts';
import { readOptions } from '../../src/webhooks/options.ts';
import { OutboxWorker } from '../../src/webhooks/outbox-worker.ts';
import { appendDeliveries, outboxParent, pendingKind, readFirst, updateDelivery } from '../../src/webhooks/outbox.ts';
import type { Sender } from '../../src/webhooks/sender.ts';

const now = 1_000_000_000_000;
const day = 86_400_000;
const given: Readonly<Record<string, string>> = {
  url: 'http://localhost/',
  secret: 'a-secret-of-sixteen-bytes-or-more',
  retry_max: '60s',
  lease: '30s',
};
const list: ListKey = {
  kind: pendingKind('hook'),
  parent: outboxParent({ kind: 'record', parent: storedParent('/buckets/b/collections/c') }),
};

it.each([
  ['of a retry', { due: now + 60_000 }, now + 60_000],
  ['of a retry by a clock that is somewhat ahead', { due: now + 85_000 }, now + 85_000],
  ['of a retry by a clock that was a day ahead', { due: now + day }, 'nothing'],
  ['of a lease', { heldUntil: now + 30_000 }, now + 30_000],
  ['of a lease by a clock that is somewhat ahead', { heldUntil: now + 55_000 }, now + 55_000],
  ['of a lease by a clock that was a day ahead', { heldUntil: now + day }, 'nothing'],
] as const)('a delivery with the time %s is sent in time.', async (_, times, remaining) => {
  let host: PluginHost | undefined;
  const looking = definePlugin({
    name: 'looking',
    setup(each) {
      host = each;
      return {};
    },
  });
  const service = await startTestService({ plugins: [looking] });
  onTestFinished(() => service.close());
  const { stores } = host!;
  await runInUnit(stores, silentLogger, async (unit) => {
    const { storage } = await unit.writer();
    await storage.lock(list);
    await appendDeliveries(storage, list, { bodies: ['{}'], now });
    await updateDelivery(storage, list, (await readFirst(storage, list))!, times);
  });
  const sent: string[] = [];
  const sender: Pick<Sender, 'send'> = {
    async send({ body }) {
      sent.push(body);
      return { kind: 'delivered' };
    },
  };
  const worker = new OutboxWorker({
    name: 'hook',
    options: readOptions((name) => given[name]),
    stores,
    sender,
    clock: createTestClock(now),
    logger: silentLogger,
  });
  expect(await worker.process(list.parent, new AbortController().signal)).toBe(remaining);
  expect(sent).toEqual(remaining === 'nothing' ? ['{}'] : []);
});
