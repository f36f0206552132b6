// The adapter in Chromium, with rows and an outbox in IndexedDB: reloads, two tabs, and changes of `navigator.onLine`.
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BrowserWorld, patience } from '../browser.ts';

/** Rows and outbox as in the example `todo`. */
const program = `
import { basic, Coffer } from '@coffer/client';
import { cofferCollectionOptions, cofferMutationFn } from '@coffer/tanstack-db';
import { createCollection } from '@tanstack/db';
import { persistedCollectionOptions } from '@tanstack/db-sqlite-persistence-core';
import { NonRetriableError, startOfflineExecutor } from '@tanstack/offline-transactions';
import { LocalDatabase } from './examples/todo/src/local-database.ts';
import { OneTab } from './examples/todo/src/one-tab.ts';

const client = new Coffer(server, { auth: basic('ann', 'secret of ann'), maxPauseMs: 200 });
const database = await LocalDatabase.open('ann');
const options = cofferCollectionOptions({ id: 'rows', client, list: client.bucket('b').collection('c'), startSync: true });
const rows = createCollection(
  persistedCollectionOptions({ ...options, persistence: { adapter: database.rows }, schemaVersion: 1 }));
const outbox = startOfflineExecutor({
  collections: { rows },
  mutationFns: { send: cofferMutationFn({ NonRetriableError }) },
  storage: database.outboxOf('rows'),
  leaderElection: new OneTab('rows'),
});
await outbox.waitForInit();
const change = (edit) => {
  const transaction = outbox.createOfflineTransaction({ mutationFnName: 'send', autoCommit: false });
  transaction.mutate(edit);
  return transaction.commit();
};
Object.assign(globalThis, { rows, outbox, change, database, ready: true });
`;

const titles = (page: Page): Promise<unknown> =>
  page.evaluate('Object.fromEntries(rows.toArray.map(({ id, title }) => [id, title]))');
const kept = (page: Page): Promise<unknown> =>
  page.evaluate(
    "database.rows.loadSubset('rows', {}).then((all) => Object.fromEntries(all.map((row) => [row.key, row.value.title])))",
  );
const cursorKept = (page: Page): Promise<unknown> =>
  page.evaluate("database.rows.loadCollectionMetadata('rows').then(([position]) => position?.value.cursor)");

describe('A collection of TanStack DB in Chromium', () => {
  let world: BrowserWorld;
  beforeEach(async () => {
    world = await BrowserWorld.start(program);
    await world.client.bucket('b').collection('c').create({ id: 'milk', title: 'Milk' });
  }, 300_000);
  afterEach(() => world.close());

  it('keeps rows and edits over a reload without a network, and sends the edits when it is back', async () => {
    const context = await world.newBrowser();
    const page = await world.openTab(context);
    await expect.poll(() => kept(page), patience).toEqual({ milk: 'Milk' });
    await world.setOnline(context, false);
    expect(await page.evaluate('navigator.onLine')).toBe(false);
    await page.evaluate(`(() => {
      change(() => rows.update('milk', (row) => { row.title = 'Oat milk'; }));
      change(() => rows.insert({ id: 'tea', title: 'Tea' }));
    })()`);
    expect(await titles(page)).toEqual({ milk: 'Oat milk', tea: 'Tea' });
    await expect.poll(() => page.evaluate('outbox.peekOutbox().then((all) => all.length)'), patience).toBe(2);
    expect(await world.stored()).toEqual({ milk: { title: 'Milk' } });
    // The page itself has no service worker: it is loaded with a network, and the service stays out of reach.
    await context.setOffline(false);
    await page.reload();
    await page.waitForFunction('globalThis.ready');
    await expect.poll(() => titles(page), patience).toEqual({ milk: 'Oat milk', tea: 'Tea' });
    await context.setOffline(true);
    await world.setOnline(context, true);
    await expect.poll(() => world.stored(), patience).toEqual({ milk: { title: 'Oat milk' }, tea: { title: 'Tea' } });
    await expect.poll(() => kept(page), patience).toEqual({ milk: 'Oat milk', tea: 'Tea' });
  });

  it('is the same in two tabs, whose shared rows never go back to an older state', async () => {
    const context = await world.newBrowser();
    const [first, second] = [await world.openTab(context), await world.openTab(context)];
    await expect
      .poll(() => Promise.all([titles(first), titles(second)]), patience)
      .toEqual([{ milk: 'Milk' }, { milk: 'Milk' }]);
    expect(await Promise.all([first, second].map((page) => page.evaluate('outbox.isOfflineEnabled')))).toEqual([
      true,
      false,
    ]);
    await second.evaluate("change(() => rows.insert({ id: 'tea', title: 'Tea' }))");
    await first.evaluate("change(() => rows.delete('milk'))");
    for (const page of [first, second]) await expect.poll(() => titles(page), patience).toEqual({ tea: 'Tea' });
    const cursor = await cursorKept(first);
    // What a tab that is behind would write.
    await second.evaluate(`(async () => {
      const [position] = await database.rows.loadCollectionMetadata('rows');
      const cursor = String(Number(position.value.cursor) - 1);
      await database.rows.applyCommittedTx('rows', {
        txId: 'late', term: 1, seq: 1, rowVersion: 1,
        mutations: [{ type: 'update', key: 'milk', value: { id: 'milk', title: 'Milk' } }],
        collectionMetadataMutations: [{ type: 'set', key: position.key, value: { ...position.value, cursor } }],
      });
    })()`);
    expect(await kept(first)).toEqual({ tea: 'Tea' });
    expect(await cursorKept(first)).toBe(cursor);
    // What a tab whose stream is late stores when the service has accepted its edit.
    await second.evaluate(`database.rows.applyCommittedTx('rows', {
      txId: 'unconfirmed', term: 1, seq: 2, rowVersion: 2,
      mutations: [{ type: 'update', key: 'tea', value: { id: 'tea', title: 'Old tea' } }],
      rowMetadataMutations: [{ type: 'set', key: 'tea', value: { last_modified: 1 } }],
    })`);
    expect(await kept(first)).toEqual({ tea: 'Tea' });
    await first.close();
    // The tab that remains takes the outbox over.
    await second.waitForFunction('outbox.isOfflineEnabled');
  });

  it('sends the edits of a tab that closes without a network from another one, each once', async () => {
    const context = await world.newBrowser();
    const [first, second] = [await world.openTab(context), await world.openTab(context)];
    await expect.poll(() => titles(second), patience).toEqual({ milk: 'Milk' });
    const writes = world.writesOf(context);
    await second.evaluate("change(() => rows.insert({ id: 'salt', title: 'Salt' }))");
    await expect.poll(() => writes, patience).toEqual(['PUT salt']);
    await world.setOnline(context, false);
    await first.evaluate(`(() => {
      change(() => rows.update('milk', (row) => { row.title = 'Oat milk'; }));
      change(() => rows.insert({ id: 'tea', title: 'Tea' }));
    })()`);
    await expect.poll(() => first.evaluate('outbox.peekOutbox().then((all) => all.length)'), patience).toBe(2);
    // A tab without an outbox rolls back what it cannot send, and says so.
    const lost =
      "change(() => rows.insert({ id: 'lost', title: 'Lost' })).then(() => 'kept', ({ message }) => message)";
    expect(await second.evaluate(lost)).not.toBe('kept');
    expect(await titles(second)).toEqual({ milk: 'Milk', salt: 'Salt' });
    await first.close();
    await second.waitForFunction('outbox.isOfflineEnabled');
    const all = { milk: 'Oat milk', salt: 'Salt', tea: 'Tea' };
    await expect.poll(() => titles(second), patience).toEqual(all);
    await world.setOnline(context, true);
    await expect.poll(() => second.evaluate('outbox.peekOutbox().then((all) => all.length)'), patience).toBe(0);
    // The outbox sends transactions of one millisecond in any order.
    await expect.poll(() => writes.toSorted(), patience).toEqual(['PATCH milk', 'PUT salt', 'PUT tea']);
    await expect.poll(() => kept(second), patience).toEqual(all);
  });
});
