// The schema of a collection changes while edits wait in the outbox: what it refuses now is rolled back, with a reason, and others go on.
import type { CofferError } from '@coffer/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { inExtent } from '../../support/extent.ts';
import { closeDevices, Device } from './device.ts';
import { backendNamed, fill, startWorld, until, type World } from './support.ts';

const backends = inExtent(['memory'], ['memory', 'sqlite', 'postgresql']);

describe.each(backends)('a schema that changes while edits wait, with a service on %s,', (backend) => {
  let world: World;
  let device: Device;
  let refused: {
    readonly status: number;
    readonly fields: readonly (string | null)[];
    readonly keys: readonly unknown[];
  }[];
  beforeEach(async () => {
    for (const name of ['warn', 'error'] as const) vi.spyOn(console, name).mockImplementation(() => undefined);
    world = await startWorld(backendNamed(backend), { experimental_collection_schema_validation: 'true' });
    await fill(world, [{ id: 'a', name: 'old' }]);
    refused = [];
    device = await Device.start(world, {
      outbox: {
        onRefused: (error, mutations) => {
          const { status, details } = error as CofferError;
          const fields = (details as { name: string | null }[]).map(({ name }) => name);
          refused.push({ status, fields, keys: mutations.map(({ key }) => key) });
        },
      },
    });
    await device.items.preload();
    device.goOffline();
  });
  afterEach(async () => {
    await closeDevices();
    await world.close();
  });

  /** From now on, records need a number `n`. */
  async function requireNumber(): Promise<void> {
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    await world.client.bucket('b').collections.put('c', { schema });
  }

  it('rolls back what it refuses, says which attribute is wrong, and sends the others', async () => {
    const { items, change, stored } = device;
    const edits = [
      change(() => void items.update('a', (draft) => void (draft.name = 'mine'))),
      change(() => void items.insert({ id: 'new', name: 'mine' })),
      change(() => void items.insert({ id: 'fine', name: 'mine', n: 1 })),
    ];
    await until(() => stored.size === 3);
    expect([items.get('a')?.name, items.has('new')]).toEqual(['mine', true]);
    await requireNumber();
    device.goOnline();
    const outcomes = await Promise.allSettled(edits);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect(refused).toEqual([
      { status: 400, fields: [expect.stringContaining('n')], keys: ['a'] },
      { status: 400, fields: [expect.stringContaining('n')], keys: ['new'] },
    ]);
    expect([items.get('a')?.name, items.has('new'), items.get('fine')?.n]).toEqual(['old', false, 1]);
    expect(stored.size).toBe(0);
  });

  it('accepts the repaired edit', async () => {
    const { items, change, stored } = device;
    const edit = change(() => void items.update('a', (draft) => void (draft.name = 'mine')));
    const creation = change(() => void items.insert({ id: 'new', name: 'mine' }));
    await until(() => stored.size === 2);
    await requireNumber();
    device.goOnline();
    await expect(edit).rejects.toThrow('400');
    await change(() => void items.update('a', (draft) => Object.assign(draft, { name: 'mine', n: 1 })));
    await expect(creation).rejects.toThrow('400');
    await change(() => void items.insert({ id: 'new', name: 'mine', n: 2 }));
    const { data } = await world.records.list({ sort: ['id'] }).all();
    expect(data).toMatchObject([
      { id: 'a', name: 'mine', n: 1 },
      { id: 'new', name: 'mine', n: 2 },
    ]);
    await until(() => items.get('a')?.n === 1 && items.get('new')?.n === 2);
  });

  it('drops later edits of a record that was never created', async () => {
    const { items, change, stored } = device;
    const creation = change(() => void items.insert({ id: 'new', name: 'mine' }));
    const later = change(() => void items.update('new', (draft) => void (draft.n = 1)));
    await until(() => stored.size === 2);
    await requireNumber();
    device.goOnline();
    await expect(creation).rejects.toThrow('400');
    await later;
    await until(() => stored.size === 0 && !items.has('new'));
    await expect(world.records.get('new')).rejects.toMatchObject({ status: 404 });
  });

  it('refuses a transaction as reported, with those of its mutations that were executed', async () => {
    const { items, change, stored } = device;
    const both = change(() => {
      items.insert({ id: 'fine', n: 1 });
      items.insert({ id: 'wrong', name: 'mine' });
    });
    await until(() => stored.size === 1);
    await requireNumber();
    device.goOnline();
    await expect(both).rejects.toThrow('400');
    expect(refused).toMatchObject([{ status: 400, keys: ['fine', 'wrong'] }]);
    // The service has accepted the first one, and the stream brings it.
    await until(() => items.has('fine') && !items.has('wrong'));
    expect((await world.records.list().all()).data.map(({ id }) => id).toSorted()).toEqual(['a', 'fine']);
  });
});
