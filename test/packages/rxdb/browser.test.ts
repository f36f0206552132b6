// The plugin in Chromium, with Dexie on IndexedDB: reloads, two tabs of which one replicates, and changes of `navigator.onLine`.
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BrowserWorld, patience } from '../browser.ts';

const program = `
import { basic, Coffer } from '@coffer/client';
import { replicateCoffer } from '@coffer/rxdb';
import { addRxPlugin, createRxDatabase } from 'rxdb';
import { RxDBLeaderElectionPlugin } from 'rxdb/plugins/leader-election';
import { getRxStorageDexie } from 'rxdb/plugins/storage-dexie';

addRxPlugin(RxDBLeaderElectionPlugin);
const client = new Coffer(server, { auth: basic('ann', 'secret of ann'), maxPauseMs: 200 });
const database = await createRxDatabase({ name: 'app', storage: getRxStorageDexie(), multiInstance: true });
const properties = { id: { type: 'string', maxLength: 100 }, title: { type: 'string' } };
const { todos } = await database.addCollections({
  todos: { schema: { version: 0, primaryKey: 'id', type: 'object', properties, required: ['id', 'title'] } },
});
const replication = replicateCoffer({
  collection: todos, client, list: client.bucket('b').collection('c'), replicationIdentifier: 'app',
  retryTime: 200, pull: {}, push: {},
});
Object.assign(globalThis, { todos, database, replication, ready: true });
`;

const titles = (page: Page): Promise<unknown> =>
  page.evaluate('todos.find().exec().then((all) => Object.fromEntries(all.map(({ id, title }) => [id, title])))');

describe('A collection of RxDB in Chromium', () => {
  let world: BrowserWorld;
  beforeEach(async () => {
    world = await BrowserWorld.start(program);
    await world.client.bucket('b').collection('c').create({ id: 'milk', title: 'Milk' });
  }, 300_000);
  afterEach(() => world.close());

  it('keeps documents and edits over a reload without a network, and sends the edits when it is back', async () => {
    const context = await world.newBrowser();
    const page = await world.openTab(context);
    await expect.poll(() => titles(page), patience).toEqual({ milk: 'Milk' });
    await world.setOnline(context, false);
    await page.evaluate(`(async () => {
      await (await todos.findOne('milk').exec()).patch({ title: 'Oat milk' });
      await todos.insert({ id: 'tea', title: 'Tea' });
    })()`);
    expect(await world.stored()).toEqual({ milk: { title: 'Milk' } });
    // The page itself has no service worker: it is loaded with a network, and the service stays out of reach.
    await context.setOffline(false);
    await page.reload();
    await page.waitForFunction('globalThis.ready');
    expect(await titles(page)).toEqual({ milk: 'Oat milk', tea: 'Tea' });
    await context.setOffline(true);
    await world.setOnline(context, true);
    await expect.poll(() => world.stored(), patience).toEqual({ milk: { title: 'Oat milk' }, tea: { title: 'Tea' } });
    await world.client.bucket('b').collection('c').patch('tea', { title: 'Green tea' });
    await expect.poll(() => titles(page), patience).toEqual({ milk: 'Oat milk', tea: 'Green tea' });
  });

  it('is the same in two tabs, and the other tab replicates when the first one closes', async () => {
    const context = await world.newBrowser();
    const first = await world.openTab(context);
    await first.evaluate('database.waitForLeadership().then(() => undefined)');
    const second = await world.openTab(context);
    await expect.poll(() => titles(second), patience).toEqual({ milk: 'Milk' });
    await second.evaluate("todos.insert({ id: 'tea', title: 'Tea' }).then(() => undefined)");
    await expect.poll(() => world.stored(), patience).toEqual({ milk: { title: 'Milk' }, tea: { title: 'Tea' } });
    await expect.poll(() => titles(first), patience).toEqual({ milk: 'Milk', tea: 'Tea' });
    expect(await second.evaluate('database.isLeader()')).toBe(false);
    await first.close();
    await second.evaluate('database.waitForLeadership().then(() => undefined)');
    await world.client.bucket('b').collection('c').delete('milk');
    await expect.poll(() => titles(second), patience).toEqual({ tea: 'Tea' });
  });

  it('sends edits of two tabs without a network from the one that remains, each once', async () => {
    const context = await world.newBrowser();
    const first = await world.openTab(context);
    await first.evaluate('database.waitForLeadership().then(() => undefined)');
    const second = await world.openTab(context);
    await expect.poll(() => titles(second), patience).toEqual({ milk: 'Milk' });
    const writes = world.writesOf(context);
    await world.setOnline(context, false);
    await first.evaluate(`(async () => {
      await (await todos.findOne('milk').exec()).patch({ title: 'Oat milk' });
    })()`);
    await second.evaluate("todos.insert({ id: 'tea', title: 'Tea' }).then(() => undefined)");
    for (const page of [first, second]) {
      await expect.poll(() => titles(page), patience).toEqual({ milk: 'Oat milk', tea: 'Tea' });
    }
    await first.close();
    await second.evaluate('database.waitForLeadership().then(() => undefined)');
    await world.setOnline(context, true);
    await expect.poll(() => world.stored(), patience).toEqual({ milk: { title: 'Oat milk' }, tea: { title: 'Tea' } });
    await second.evaluate('replication.awaitInSync().then(() => undefined)');
    const written = (): unknown => [writes.length, new Set(writes.map((write) => write.split(' ')[1]))];
    await expect.poll(written, patience).toEqual([2, new Set(['milk', 'tea'])]);
  });
});
