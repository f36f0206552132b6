// Live updates on every backend: copies, filters, shared connections, and what makes a copy invalid.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { basic, Coffer, CofferError, type Collection, type LiveOptions } from '../../../packages/client/src/index.ts';
import type { TestService } from '../../../src/testing/index.ts';
import { forEachBackend } from '../../support/backends.ts';
import { SwitchedFetch } from '../switched-fetch.ts';
import { FaultyProxy } from './faulty-proxy.ts';
import { Follower } from './follower.ts';

interface Note {
  readonly n: number;
  readonly text?: string;
}

forEachBackend(({ name, start }) => {
  describe(`Live updates of the client, with a service on ${name},`, () => {
    let service: TestService;
    let proxy: FaultyProxy;
    let coffer: Coffer;
    let collections = 0;

    beforeAll(async () => {
      service = await start({ settings: { flush_endpoint_enabled: 'true', live_recheck_seconds: '1' } });
      proxy = await FaultyProxy.start(service.origin);
      coffer = clientOf('ann');
      await coffer.buckets.create({ id: 'b' });
    });
    afterAll(async () => {
      await proxy.close();
      await service.close();
    });

    function clientOf(user: string): Coffer {
      return new Coffer(proxy.origin, { auth: basic(user, `secret of ${user}`), maxPauseMs: 50 });
    }

    async function notesOf(count = 0): Promise<Collection<Note>> {
      collections += 1;
      await coffer.bucket('b').collections.create({ id: `c${collections}` });
      const notes = coffer.bucket('b').collection<Note>(`c${collections}`);
      for (let n = 0; n < count; n += 1) await notes.create({ id: `n${n}`, n });
      return notes;
    }

    function follow(notes: Collection<Note>, options: LiveOptions<Note> = {}): Follower<Note> {
      const follower = new Follower(notes.live(options));
      onTestFinished(() => follower.stop());
      return follower;
    }

    async function expectEqualCopy(follower: Follower<Note>, notes: Collection<Note>): Promise<void> {
      const { data, etag } = await notes.list().all();
      await follower.until(({ last }) => Number(last!.cursor) >= Number(etag));
      expect([...follower.copy.values()].toSorted((a, b) => b.last_modified - a.last_modified)).toEqual(data);
    }

    it.each(['auto', 'poll'] as const)('begin with a complete copy and follow every change (%s)', async (transport) => {
      const notes = await notesOf(5);
      await notes.delete('n0');
      const follower = follow(notes, { transport });
      await follower.until(({ copy }) => copy.size === 4);
      await notes.put('n1', { n: 11 });
      await notes.delete('n2');
      await notes.create({ id: 'new', n: 7 });
      await follower.until(({ copy }) => copy.has('new'));
      await expectEqualCopy(follower, notes);
      expect(follower.resyncs).toEqual([]);
    });

    it.each(['auto', 'poll'] as const)('continue from a cursor (%s)', async (transport) => {
      const notes = await notesOf(3);
      const { etag } = await notes.list().page();
      await notes.put('n1', { n: 11 });
      await notes.delete('n2');
      const follower = follow(notes, { since: etag, transport });
      await follower.until();
      expect(follower.updates.flatMap(({ changes }) => changes.map(({ id }) => id))).toEqual(['n1', 'n2']);
      const { cursor } = follower.last!;
      expect(cursor).toBe((await notes.list().page()).etag);
    });

    it.each(['auto', 'poll'] as const)('mark what does not match a filter any more (%s)', async (transport) => {
      const notes = await notesOf(4);
      const follower = follow(notes, { filter: { n: { $gte: 2 } }, fields: ['n'], transport });
      await follower.until(({ copy }) => copy.size === 2);
      await notes.put('n3', { n: 0 });
      await notes.put('n0', { n: 5, text: 'left out' });
      await follower.until(({ copy }) => copy.has('n0') && !copy.has('n3'));
      expect([...follower.copy.keys()].toSorted()).toEqual(['n0', 'n2']);
      expect(follower.copy.get('n0')).not.toHaveProperty('text');
    });

    it('share one connection, unless a list wants its own', async () => {
      const lists = [await notesOf(1), await notesOf(2), await notesOf(3)];
      proxy.seen.length = 0;
      const followers = lists.map((notes) => follow(notes));
      const own = follow(lists[0]!, { shared: false });
      for (const [index, follower] of followers.entries()) await follower.until(({ copy }) => copy.size === index + 1);
      await own.until(({ copy }) => copy.size === 1);
      const streams = proxy.seen.filter(({ target }) => target.startsWith('/v1/live?'));
      expect(streams.map(({ target }) => target.split('watch=').length - 1).toSorted((a, b) => a - b)).toEqual([1, 3]);
      // A list that is followed later joins them.
      const groups = new Follower(coffer.bucket('b').groups.live());
      onTestFinished(() => groups.stop());
      await groups.until();
      await lists[2]!.create({ id: 'late', n: 1 });
      await followers[2]!.until(({ copy }) => copy.has('late'));
      for (const [index, follower] of followers.entries()) await expectEqualCopy(follower, lists[index]!);
      expect(followers.flatMap(({ resyncs }) => resyncs)).toEqual([]);
    });

    it('ask the service once for a list that several consumers follow, and give each its own objects', async () => {
      const notes = await notesOf(2);
      const { etag } = await notes.list().page();
      const followers = [follow(notes, { since: etag }), follow(notes, { since: etag })];
      for (const follower of followers) await follower.until();
      followers.push(follow(notes, { since: etag }), follow(notes), follow(notes, { filter: { n: 1 }, since: etag }));
      for (const follower of followers) await follower.until();
      proxy.seen.length = 0;
      followers.push(follow(notes, { since: etag }));
      await notes.put('n1', { n: 1, text: 'changed' });
      await notes.create({ id: 'late', n: 1 });
      for (const follower of followers) await follower.until(({ copy }) => copy.has('n1') && copy.has('late'));
      // The list, and its filtered part.
      const lists = proxy.seen.flatMap(({ target }) => [...new URLSearchParams(target.split('?')[1]).getAll('watch')]);
      expect(lists.length).toBeLessThanOrEqual(2);
      const objects = followers.map(({ copy }) => copy.get('n1')!);
      expect(new Set(objects).size).toBe(followers.length);
      for (const object of objects) expect(object).toEqual(objects[0]);
      await followers[0]!.stop();
      await notes.delete('late');
      for (const follower of followers.slice(1)) await follower.until(({ copy }) => !copy.has('late'));
      expect(followers.flatMap(({ resyncs }) => resyncs)).toEqual([]);
    });

    it('go on after the connection was cut, without gaps', async () => {
      const notes = await notesOf(2);
      const follower = follow(notes);
      await follower.until(({ copy }) => copy.size === 2);
      for (let round = 0; round < 5; round += 1) {
        proxy.cutAll();
        await notes.create({ id: `r${round}`, n: round });
        await notes.delete(round === 0 ? 'n0' : `r${round - 1}`);
        await follower.until(({ copy }) => copy.has(`r${round}`));
      }
      await expectEqualCopy(follower, notes);
      expect(follower.resyncs).toEqual([]);
    });

    it('begin anew when deletions before the cursor are not known any more', async () => {
      const notes = await notesOf(3);
      const id = notes.path.split('/').at(-2)!;
      const { etag } = await notes.list().page();
      for (const transport of ['auto', 'poll'] as const) {
        await coffer.bucket('b').collections.delete(id);
        await coffer.bucket('b').collections.create({ id });
        await notes.create({ id: `again-${transport}`, n: 1 });
        const follower = follow(notes, { since: etag, transport });
        await follower.until();
        expect(follower.updates[0]).toEqual({ changes: [], cursor: '0', current: false, resync: 'horizon' });
        await expectEqualCopy(follower, notes);
      }
    });

    it('end when the collection is deleted', async () => {
      const notes = await notesOf(1);
      const others = await notesOf(1);
      const follower = follow(notes);
      const other = follow(others);
      await Promise.all([follower.until(), other.until()]);
      await coffer.bucket('b').collections.delete(notes.path.split('/').at(-2)!);
      expect(await follower.ended).toMatchObject({ kind: 'http', status: 404, errno: 111 });
      await others.create({ id: 'x', n: 1 });
      await other.until(({ copy }) => copy.has('x'));
    });

    it('end for a caller who may not read the list, at the beginning or later', async () => {
      const notes = await notesOf(1);
      const bob = clientOf('bob');
      const theirs = bob.bucket('b').collection<Note>(notes.path.split('/').at(-2)!);
      const refused = follow(theirs);
      const error = await refused.ended;
      expect(error).toBeInstanceOf(CofferError);
      expect(error).toMatchObject({ kind: 'http', status: 403, errno: 121 });
      expect(await follow(theirs, { transport: 'poll' }).ended).toMatchObject({ status: 403 });
      const { user } = await bob.info();
      const access = coffer.bucket('b').collections.permissions(notes.path.split('/').at(-2)!);
      await access.add({ read: [user!.id] });
      const follower = follow(theirs);
      await follower.until(({ copy }) => copy.size === 1);
      await access.remove({ read: [user!.id] });
      expect(await follower.ended).toMatchObject({ status: 403, errno: 121 });
    });

    it('show a caller the shared objects alone, as they are shared', async () => {
      const notes = await notesOf(3);
      const bob = clientOf('bob');
      const { user } = await bob.info();
      const theirs = bob.bucket('b').collection<Note>(notes.path.split('/').at(-2)!);
      await notes.permissions('n0').add({ read: [user!.id] });
      const follower = follow(theirs);
      await follower.until(({ copy }) => copy.size === 1);
      await notes.permissions('n1').add({ read: [user!.id] });
      await follower.until(({ copy }) => copy.has('n1'));
      await notes.permissions('n0').remove({ read: [user!.id] });
      await follower.until(({ copy }) => !copy.has('n0'));
      expect([...follower.copy.keys()]).toEqual(['n1']);
      expect(new Set(follower.resyncs)).toEqual(new Set(['access']));
    });

    it('have everything after access to single objects became access to the list without a connection', async () => {
      const notes = await notesOf(3);
      const network = new SwitchedFetch();
      const bob = new Coffer(service.origin, { auth: basic('bob', 'x'), maxPauseMs: 50, fetch: network.fetch });
      const { user } = await bob.info();
      await notes.permissions('n1').add({ read: [user!.id] });
      const collection = notes.path.split('/').at(-2)!;
      const follower = follow(bob.bucket('b').collection<Note>(collection));
      await follower.until(({ copy }) => copy.size === 1);
      const { cursor } = follower.last!;
      expect(cursor).toMatch(/^0\d+$/);
      network.off();
      await coffer
        .bucket('b')
        .collections.permissions(collection)
        .add({ read: [user!.id] });
      expect(follower.copy.size).toBe(1);
      network.on();
      await follower.until(({ copy }) => copy.size === 3);
      await expectEqualCopy(follower, notes);
      const later = follow(bob.bucket('b').collection<Note>(collection), { since: cursor });
      await later.until(({ copy }) => copy.size === 3);
      expect(later.updates[0]).toEqual({ changes: [], cursor: '0', current: false, resync: 'horizon' });
    });

    it('begin anew after everything was deleted', async () => {
      const flushed = await start({ settings: { flush_endpoint_enabled: 'true' } });
      onTestFinished(() => flushed.close());
      const client = new Coffer(flushed.origin, { auth: basic('ann', 'x'), maxPauseMs: 50 });
      const prepare = async (): Promise<void> => {
        await client.buckets.create({ id: 'b' });
        await client.bucket('b').collections.create({ id: 'c' });
      };
      await prepare();
      const buckets = new Follower(client.buckets.live());
      onTestFinished(() => buckets.stop());
      await buckets.until(({ copy }) => copy.size === 1);
      await client.request('POST', '/__flush__');
      await buckets.until(({ resyncs }) => resyncs.includes('flushed'));
      await prepare();
      await buckets.until(({ copy }) => copy.size === 1);
    });

    it('end at once when they are aborted or left', async () => {
      const notes = await notesOf(2);
      const controller = new AbortController();
      const follower = follow(notes, { signal: controller.signal });
      await follower.until();
      controller.abort();
      expect(await follower.ended).toBeUndefined();
      for await (const update of notes.live()) {
        expect(update.changes).toHaveLength(2);
        break;
      }
      expect(await follow(notes, { signal: controller.signal }).ended).toBeUndefined();
    });
  });
});
