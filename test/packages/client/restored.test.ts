// A service that is restored from a backup of its file, for a client that follows a list.
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { basic, Coffer, type Collection } from '../../../packages/client/src/index.ts';
import type { TestService } from '../../../src/testing/index.ts';
import { Restorable, restoreCases } from '../restorable.ts';
import { Follower } from './follower.ts';

interface Note {
  readonly n: number;
}

describe.each(['sse', 'poll'] as const)('Live updates (%s) of a service that is restored', (transport) => {
  let restorable: Restorable;
  let service: TestService;
  let notes: Collection<Note>;
  beforeEach(async () => {
    restorable = new Restorable();
    service = await restorable.backend.start();
    const client = new Coffer(service.origin, { auth: basic('ann', 'secret of ann'), maxPauseMs: 50 });
    await client.buckets.create({ id: 'b' });
    await client.bucket('b').collections.create({ id: 'c' });
    notes = client.bucket('b').collection<Note>('c');
    for (const id of ['changed', 'deleted', 'other']) await notes.create({ id, n: 1 });
    restorable.backUp();
  });
  afterEach(() => service.close());

  it.each(restoreCases)('%s, begin anew', async (_, { resync, aheadMs }) => {
    restorable.aheadMs = aheadMs;
    const follower = new Follower(notes.live({ transport }));
    onTestFinished(() => follower.stop());
    await follower.until();
    await notes.patch('changed', { n: 2 });
    await notes.delete('deleted');
    await notes.create({ id: 'lost', n: 2 });
    await follower.until(({ copy }) => copy.has('lost') && !copy.has('deleted') && copy.get('changed')?.n === 2);
    await restorable.restore({ resync });
    await follower.until(({ copy }) => copy.has('deleted') && !copy.has('lost'));
    expect(follower.resyncs).toHaveLength(1);
    const content = Object.fromEntries([...follower.copy.values()].map(({ id, n }) => [id, n]));
    expect(content).toEqual({ changed: 1, deleted: 1, other: 1 });
    await notes.patch('other', { n: 5 });
    await follower.until(({ copy }) => copy.get('other')?.n === 5);
    expect(follower.resyncs).toHaveLength(1);
  });
});
