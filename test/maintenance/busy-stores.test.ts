// Commands that write next to a service that writes to the same lists.
import { expect, test } from 'vitest';
import type { StorageWriter } from '../../src/contracts/storage.ts';
import type { OpenStores } from '../../src/contracts/open-backends.ts';
import type { ListKey } from '../../src/core/objects/stored.ts';
import { storedUri, uriBelow } from '../../src/core/objects/uris.ts';
import { deleteCollection } from '../../src/maintenance/deletions.ts';
import { inUnit } from '../../src/maintenance/units.ts';
import { emptyWebhookDeadLetters } from '../../src/maintenance/webhooks.ts';
import { deadKind, pendingKind } from '../../src/webhooks/outbox.ts';
import { openDurable, type DurableBackend } from '../support/durable-stores.ts';

const bucket = storedUri('/buckets/b');
const backends: readonly DurableBackend[] = ['sqlite', 'postgresql', 'redis'];

/** Does the work while another process writes to lists without an end. */
async function whileWriting(
  { storage }: OpenStores,
  lists: readonly ListKey[],
  work: () => Promise<void>,
): Promise<void> {
  let isDone = false;
  const writeOn = async (): Promise<void> => {
    for (let written = 0; !isDone; written++) {
      await inUnit(storage.database, async (transaction) => {
        for (const list of lists) await storage.writer(transaction).update(list, `other${written % 3}`, '{}');
      });
      // SQLite has no queue between processes: a writer that never pauses blocks the others.
      for (let turn = 0; turn < 100 && storage.database.name === 'sqlite'; turn++) await new Promise(setImmediate);
    }
  };
  const finish = async (): Promise<void> => {
    try {
      await work();
    } finally {
      isDone = true;
    }
  };
  await Promise.all([finish(), writeOn()]);
}

function prepare({ storage }: OpenStores, work: (writer: StorageWriter) => Promise<unknown>): Promise<unknown> {
  return inUnit(storage.database, (transaction) => work(storage.writer(transaction)));
}

test.each(backends)(
  'delete-collection succeeds on %s while others write to the list of collections',
  async (backend) => {
    const { settings, stores } = await openDurable(backend);
    const collections: ListKey = { kind: 'collection', parent: bucket };
    const ids = Array.from({ length: 10 }, (_, n) => `c${n}`);
    await prepare(stores, async (writer) => {
      await writer.create({ kind: 'bucket', parent: '' }, 'b', '{}');
      for (const id of ids) {
        await writer.create(collections, id, '{}');
        const records: ListKey = { kind: 'record', parent: uriBelow(bucket, 'collections', id) };
        for (let n = 0; n < 50; n++) await writer.create(records, `r${n}`, '{}');
      }
    });
    await whileWriting(stores, [collections], async () => {
      for (const collection of ids) {
        expect(await deleteCollection(settings, { bucket: 'b', collection })).toBe('done');
      }
    });
  },
);

test.each(backends)('webhooks --retry succeeds on %s while the service delivers', async (backend) => {
  const { settings, stores } = await openDurable(backend);
  const dead: ListKey = { kind: deadKind('hook'), parent: bucket };
  const outbox: ListKey = { kind: pendingKind('hook'), parent: bucket };
  const text = JSON.stringify({ attempts: 9, due: 0, delivery: {} });
  await prepare(stores, async (writer) => {
    for (let n = 0; n < 500; n++) await writer.create(dead, `d${n}`, text);
  });
  await whileWriting(stores, [outbox], async () => {
    expect(await emptyWebhookDeadLetters(settings, { name: 'hook', retry: true })).toBe(500);
  });
  expect(await stores.storage.reader.countAll(dead, { filters: [] })).toBe(0);
});
