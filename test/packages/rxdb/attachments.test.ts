// Documents whose schema has attachments: they are replicated, and the attachments stay where they are.
import { addRxPlugin } from 'rxdb';
import { RxDBAttachmentsPlugin } from 'rxdb/plugins/attachments';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FaultyProxy } from '../client/faulty-proxy.ts';
import { contentOf, converged, recordsOf, todoSchema, until, World } from './support.ts';

addRxPlugin(RxDBAttachmentsPlugin);

describe('A replication without attachments', () => {
  let world: World;
  let proxy: FaultyProxy;
  beforeAll(async () => {
    world = await World.start();
  });
  beforeEach(async () => {
    proxy = await FaultyProxy.start(world.service.origin);
  });
  afterEach(async () => {
    await world.closeDatabases();
    await proxy.close();
  });
  afterAll(() => world.close());

  const schema = { ...todoSchema, attachments: {} };
  const note = { id: 'note.txt', type: 'text/plain', data: new Blob(['here']) };

  it('keeps attachments when others change or delete the document, and sends nothing for them', async () => {
    const list = await world.newList();
    const todos = await world.open({ schema });
    const client = world.clientOf('owner', {}, proxy.origin);
    const state = world.replicate(todos, list, { client, attachments: false });
    await state.awaitInitialReplication();
    const document = await todos.insert({ id: 'a', title: 'A' });
    await (document as any).putAttachment(note);
    await state.awaitInSync();
    expect(await recordsOf(list)).toEqual({ a: { id: 'a', title: 'A' } });
    await list.patch('a', { title: 'Theirs' });
    await until(async () => (await todos.findOne('a').exec(true)).title === 'Theirs');
    await state.awaitInSync();
    const read = async (): Promise<string> =>
      ((await todos.findOne('a').exec(true)) as any).getAttachment('note.txt').getStringData();
    expect(await read()).toBe('here');
    await list.put('b', { title: 'B' });
    await until(() => todos.findOne('b').exec());
    await state.awaitInSync();
    expect(proxy.seen.filter(({ method }) => method !== 'GET')).toHaveLength(1);
    // A conflict.
    await state.pause();
    await (await todos.findOne('a').exec(true)).incrementalPatch({ title: 'Mine' });
    await list.patch('a', { title: 'Theirs again' });
    await state.start();
    await converged(todos, list);
    expect(await read()).toBe('here');
    await list.delete('a');
    await until(async () => (await todos.findOne('a').exec()) === null);
  });

  it('brings documents to another collection with attachments', async () => {
    const list = await world.newList();
    const [one, other] = [await world.open({ schema }), await world.open({ schema })];
    await ((await one.insert({ id: 'a', title: 'A' })) as any).putAttachment(note);
    await world.once(one, list, { attachments: false });
    await world.once(other, list, { attachments: false });
    expect(await contentOf(other)).toEqual({ a: { id: 'a', title: 'A' } });
    await (await other.findOne('a').exec(true)).incrementalPatch({ title: 'B' });
    await world.once(other, list, { attachments: false });
    await world.once(one, list, { attachments: false });
    const document = (await one.findOne('a').exec(true)) as any;
    expect([document.title, await document.getAttachment('note.txt').getStringData()]).toEqual(['B', 'here']);
  });
});
