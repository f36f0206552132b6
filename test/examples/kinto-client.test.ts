// The unmodified `kinto` npm client: its HTTP client in everything it offers, and its offline copies in every way to
// synchronise them. The short run takes SQLite: the HTTP tables prove that all backends give the same responses.
import 'fake-indexeddb/auto';
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import type kinto from 'kinto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { authorizationOf, type TestService } from '../../src/testing/index.ts';
import { allBackends } from '../support/backends.ts';
import { inExtent } from '../support/extent.ts';

const { default: Kinto, KintoClient } = createRequire(import.meta.url)('kinto') as typeof kinto;

/** What the client makes of lists. */
interface Listed {
  readonly data: any[];
  readonly hasNextPage: boolean;
  readonly totalRecords: number;
  readonly last_modified: string | null;
  next(): Promise<Listed>;
}

const backends = inExtent(
  allBackends.filter(({ name }) => name === 'sqlite'),
  allBackends,
);

for (const backend of backends) {
  describe(`the npm client on ${backend.name}`, () => {
    let service: TestService;

    beforeAll(async () => {
      service = await backend.start({
        settings: {
          includes: 'default_bucket flush history',
          experimental_permissions_endpoint: 'true',
          batch_max_requests: '25',
        },
      });
    });

    afterAll(() => service.close());

    const remote = (): string => `${service.origin}/v1`;
    const clientOf = (user: string, options: object = {}): any =>
      new KintoClient(remote(), { headers: { Authorization: authorizationOf(user) }, ...options });

    it('knows the server: settings, capabilities, user, version', async () => {
      const client = clientOf('alice');
      expect(await client.fetchServerSettings()).toMatchObject({ batch_max_requests: 25, readonly: false });
      expect(Object.keys(await client.fetchServerCapabilities())).toEqual(
        expect.arrayContaining(['default_bucket', 'permissions_endpoint']),
      );
      const user = await client.fetchUser();
      expect(user.bucket).toHaveLength(36);
      expect(user.principals).toContain(user.id);
      expect(await client.fetchHTTPApiVersion()).toBe('1.23');
    });

    it('writes buckets, groups, collections and records, safely and in parts', async () => {
      const client = clientOf('alice');
      await client.createBucket('b1', { data: { kind: 'first' }, safe: true });
      await expect(client.createBucket('b1', { safe: true })).rejects.toThrow(/412/);
      const bucket = client.bucket('b1');
      await bucket.setData({ more: 1 }, { patch: true });
      expect(await bucket.getData()).toMatchObject({ id: 'b1', kind: 'first', more: 1 });
      await bucket.createGroup('staff', ['basicauth:x'], { safe: true });
      const { data: group } = await bucket.getGroup('staff');
      await bucket.updateGroup({ ...group, members: ['basicauth:y'] }, { safe: true });
      await expect(bucket.updateGroup({ ...group, members: [] }, { safe: true })).rejects.toThrow(/412/);
      expect((await bucket.listGroups()).data).toMatchObject([{ id: 'staff', members: ['basicauth:y'] }]);
      await bucket.createCollection('c1', { data: { title: 'C' } });
      const collection = bucket.collection('c1');
      const { data: record } = await collection.createRecord({ n: 1 });
      const { data: updated } = await collection.updateRecord({ ...record, n: 2 }, { safe: true });
      await expect(collection.updateRecord({ ...record, n: 3 }, { safe: true })).rejects.toThrow(/412/);
      await collection.updateRecord({ id: record.id, m: 1 }, { patch: true });
      expect((await collection.getRecord(record.id)).data).toMatchObject({ n: 2, m: 1 });
      await expect(collection.deleteRecord(updated, { safe: true })).rejects.toThrow(/412/);
      expect((await collection.deleteRecord(record.id)).data).toMatchObject({ deleted: true });
      await bucket.deleteGroup('staff');
      await bucket.deleteGroups();
      expect(await bucket.getGroupsTimestamp()).toMatch(/^"\d+"$/);
      expect(await bucket.getCollectionsTimestamp()).toMatch(/^"\d+"$/);
      expect(await collection.getRecordsTimestamp()).toMatch(/^"\d+"$/);
      await bucket.deleteCollections();
      expect((await bucket.listCollections()).data).toEqual([]);
      await client.deleteBucket('b1');
    });

    it('reads pages, filters, totals, tombstones and single fields', async () => {
      const client = clientOf('alice');
      await client.createBucket('pages');
      const collection = client.bucket('pages').collection('c');
      await client.bucket('pages').createCollection('c');
      // More than fit into one batch: the client splits them.
      await collection.batch((batch: any) => {
        for (let n = 0; n < 60; n++) batch.createRecord({ id: `r${n}`, n });
      });
      expect(await collection.getTotalRecords()).toBe(60);
      const first: Listed = await collection.listRecords({ limit: 25, sort: 'n' });
      const second = await first.next();
      const third = await second.next();
      expect([first, second, third].map(({ data }) => data.length)).toEqual([25, 25, 10]);
      expect([first, second, third].flatMap(({ data }) => data.map(({ n }) => n))).toEqual(
        Array.from({ length: 60 }, (_, n) => n),
      );
      expect([first.hasNextPage, third.hasNextPage]).toEqual([true, false]);
      const all: Listed = await collection.listRecords({ limit: 10, pages: Infinity });
      expect(all.data).toHaveLength(60);
      const some: Listed = await collection.listRecords({ filters: { min_n: 57 }, fields: ['n'], sort: '-n' });
      expect(some.data.map(({ n }) => n)).toEqual([59, 58, 57]);
      const { last_modified: since } = await collection.listRecords({ limit: 1 });
      await collection.deleteRecords({ filters: { lt_n: 2 } });
      const changes: Listed = await collection.listRecords({ since });
      expect(changes.data.map(({ id, deleted }) => `${id} ${deleted}`).toSorted()).toEqual(['r0 true', 'r1 true']);
      expect((await client.listBuckets({ filters: { id: 'pages' } })).data).toHaveLength(1);
    });

    it('sends batches, with the outcome of each part, and aggregates them', async () => {
      const client = clientOf('alice');
      await client.createBucket('batches');
      const make = (batch: any): void => {
        batch.createCollection('c', { safe: true });
        batch.collection('c').createRecord({ id: 'r', n: 1 }, { safe: true });
        batch.collection('c').updateRecord({ id: 'r', n: 2, last_modified: 1 }, { safe: true });
        batch.collection('c').deleteRecord('none');
      };
      const responses = await client.bucket('batches').batch(make);
      expect(responses.map(({ status }: { status: number }) => status)).toEqual([201, 201, 412, 404]);
      const aggregated = await client.bucket('batches').batch(make, { aggregate: true });
      expect(aggregated.conflicts.map(({ type }: { type: string }) => type)).toEqual([
        'outgoing',
        'outgoing',
        'outgoing',
      ]);
      expect(aggregated.conflicts.map(({ remote: { id } }: { remote: { id: string } }) => id)).toEqual(['c', 'r', 'r']);
      expect(aggregated.skipped).toMatchObject([{ id: 'none' }]);
      const published = await client.batch(
        (batch: any) => void batch.bucket('batches').collection('c').createRecord({ id: 'new' }),
        { aggregate: true },
      );
      expect(published.published).toMatchObject([{ data: { id: 'new' } }]);
    });

    it('changes permissions as a whole and one by one, and lists them', async () => {
      const [alice, bob] = [clientOf('alice'), clientOf('bob')];
      const { id: bobId } = await bob.fetchUser();
      const { id: aliceId } = await alice.fetchUser();
      await alice.createBucket('shared');
      const bucket = alice.bucket('shared');
      await bucket.createCollection('c', { permissions: { 'record:create': [bobId] } });
      const collection = bucket.collection('c');
      await bucket.createGroup('readers', [bobId]);
      await collection.setPermissions({ read: ['/buckets/shared/groups/readers'], 'record:create': [bobId] });
      await collection.addPermissions({ read: ['system.Everyone', 'basicauth:somebody'] });
      await collection.removePermissions({ read: ['system.Everyone', 'basicauth:somebody'] });
      expect(await collection.getPermissions()).toEqual({
        write: [aliceId],
        read: ['/buckets/shared/groups/readers'],
        'record:create': [bobId],
      });
      await collection.setPermissions({ read: [bobId] });
      expect(await collection.getPermissions()).toEqual({ write: [aliceId], read: [bobId] });
      await bucket.addPermissions({ read: [bobId] });
      expect((await bucket.getPermissions()).read).toEqual([bobId]);
      const { data: listed }: Listed = await bob.listPermissions();
      expect(listed.map(({ uri, permissions }) => [uri, permissions.toSorted()])).toEqual(
        expect.arrayContaining([
          ['/buckets/shared/collections/c', ['read', 'read:attributes']],
          ['/buckets/shared', ['read', 'read:attributes']],
        ]),
      );
    });

    it('reads the history, and collections as they were', async () => {
      const client = clientOf('alice');
      await client.createBucket('past');
      await client.bucket('past').createCollection('c');
      const collection = client.bucket('past').collection('c');
      const { data: one } = await collection.createRecord({ id: 'one', n: 1 });
      const { data: two } = await collection.createRecord({ id: 'two', n: 1 });
      await collection.updateRecord({ ...one, n: 2 });
      await collection.deleteRecord('two');
      const { data: entries }: Listed = await client
        .bucket('past')
        .listHistory({ filters: { resource_name: 'record' } });
      expect(entries.map(({ action, record_id }) => `${action} ${record_id}`)).toEqual([
        'delete two',
        'update one',
        'create two',
        'create one',
      ]);
      const { data: past }: Listed = await collection.getSnapshot(two.last_modified);
      expect(past.map(({ id, n }) => `${id} ${n}`)).toEqual(['two 1', 'one 1']);
      expect(await collection.isHistoryComplete()).toBe(true);
    });

    it('uses the personal bucket, and deletes all buckets of a user', async () => {
      const carol = clientOf('carol');
      const bucket = carol.bucket('default');
      const { data } = await bucket.collection('tasks').createRecord({ title: 'x' });
      expect((await bucket.collection('tasks').listRecords()).data).toEqual([data]);
      expect((await bucket.getData()).id).toBe((await carol.fetchUser()).bucket);
      await carol.createBucket('of-carol', { permissions: {} });
      await carol.deleteBuckets();
      expect((await carol.listBuckets()).data).toEqual([]);
    });

    /** Two copies of one collection, each with a database and an event bus of its own. */
    const devicesOf = (
      name: string,
      user = name,
    ): { readonly phone: any; readonly laptop: any; readonly server: any } => {
      const device = (prefix: string): any =>
        new Kinto({
          remote: remote(),
          headers: { Authorization: authorizationOf(user) },
          bucket: 'default',
          adapterOptions: { dbName: `${backend.name}-${name}-${prefix}` },
          events: new EventEmitter(),
        }).collection(name, { idSchema: { generate: () => `n${Math.random()}`, validate: () => true } });
      return {
        phone: device('phone'),
        laptop: device('laptop'),
        server: clientOf(user).bucket('default').collection(name),
      };
    };

    /** A record that both devices have changed, the laptop already at the server. */
    const inConflict = async (name: string): Promise<ReturnType<typeof devicesOf>> => {
      const devices = devicesOf(name);
      const { phone, laptop } = devices;
      await phone.create({ id: 'one', by: 'first' }, { useRecordId: true });
      await phone.sync();
      await laptop.sync();
      await laptop.update({ id: 'one', by: 'laptop' });
      await laptop.sync();
      await phone.update({ id: 'one', by: 'phone' });
      return devices;
    };

    it('MANUAL conflicts are handed over, and resolved by the application', async () => {
      const { phone, laptop, server } = await inConflict('manual');
      const result = await phone.sync();
      expect([result.ok, result.conflicts.length]).toEqual([false, 1]);
      const [conflict] = result.conflicts;
      expect([conflict.local.by, conflict.remote.by]).toEqual(['phone', 'laptop']);
      await phone.resolve(conflict, { ...conflict.local, by: 'both' });
      expect(await phone.sync()).toMatchObject({ ok: true, conflicts: [] });
      await laptop.sync();
      expect((await laptop.get('one')).data.by).toBe('both');
      expect((await server.getRecord('one')).data.by).toBe('both');
    });

    it.each([
      ['CLIENT_WINS', 'phone'],
      ['SERVER_WINS', 'laptop'],
    ] as const)('%s resolves conflicts in favour of the %s', async (strategy, winner) => {
      const { phone, laptop, server } = await inConflict(strategy.toLowerCase());
      const result = await phone.sync({ strategy: Kinto.syncStrategy[strategy] });
      expect([result.ok, result.resolved.length]).toEqual([true, 1]);
      await laptop.sync();
      for (const copy of [phone, laptop]) expect((await copy.get('one')).data.by).toBe(winner);
      expect((await server.getRecord('one')).data.by).toBe(winner);
    });

    it('PULL_ONLY takes what the server has, and publishes nothing', async () => {
      const { phone, server } = await inConflict('pull_only');
      await phone.create({ id: 'local' }, { useRecordId: true });
      const result = await phone.sync({ strategy: Kinto.syncStrategy.PULL_ONLY });
      expect([result.ok, result.published]).toEqual([true, []]);
      expect((await phone.get('one')).data.by).toBe('laptop');
      expect((await server.listRecords()).data).toHaveLength(1);
    });

    it('records deleted on both sides, or changed on one and deleted on the other, settle', async () => {
      const { phone, laptop, server } = await inConflict('deletions');
      await server.deleteRecord('one');
      expect(await phone.sync({ strategy: Kinto.syncStrategy.SERVER_WINS })).toMatchObject({ ok: true });
      // The client keeps the tombstone that won.
      expect((await phone.get('one')).data.deleted).toBe(true);
      await laptop.delete('one');
      expect(await laptop.sync()).toMatchObject({ ok: true, conflicts: [] });
      await laptop.create({ id: 'one', by: 'again' }, { useRecordId: true });
      await laptop.sync();
      expect(await phone.sync()).toMatchObject({ ok: true });
      expect((await phone.get('one')).data.by).toBe('again');
    });

    it('changes made offline by several devices meet, in more than one page and batch', async () => {
      const { phone, laptop, server } = devicesOf('offline');
      for (let n = 0; n < 40; n++) await phone.create({ id: `p${n}`, n }, { useRecordId: true });
      for (let n = 0; n < 40; n++) await laptop.create({ id: `l${n}`, n }, { useRecordId: true });
      expect((await phone.sync()).published).toHaveLength(40);
      expect(await laptop.sync()).toMatchObject({ ok: true, published: { length: 40 }, created: { length: 40 } });
      await phone.sync();
      const ids = ({ data }: Listed): string[] => data.map(({ id }) => String(id)).toSorted();
      expect(ids(await phone.list())).toEqual(ids(await laptop.list()));
      expect(await server.getTotalRecords()).toBe(80);
    });

    it('a collection that was deleted and made again is followed without being taken for a flush', async () => {
      const { phone, laptop, server } = devicesOf('recreated');
      await phone.create({ id: 'one' }, { useRecordId: true });
      await phone.sync();
      await laptop.sync();
      await clientOf('recreated').bucket('default').deleteCollection('recreated');
      await server.createRecord({ id: 'two' });
      expect(await laptop.sync()).toMatchObject({ ok: true, created: [{ id: 'two' }] });
    });

    it('a server that was flushed is noticed, and resetting the copy publishes everything again', async () => {
      const { phone, server } = devicesOf('flushed');
      await phone.create({ id: 'one' }, { useRecordId: true });
      await phone.sync();
      expect((await service.request('POST', '/v1/__flush__')).status).toBe(202);
      await expect(phone.sync()).rejects.toThrow(/flushed/);
      await phone.resetSyncStatus();
      expect((await phone.sync()).published).toHaveLength(1);
      expect((await server.listRecords()).data).toMatchObject([{ id: 'one' }]);
    });
  });

  describe(`the npm client on ${backend.name}, when the server has something to say,`, () => {
    it('reports a pause and the end of the service', async () => {
      vi.spyOn(console, 'warn').mockReturnValue();
      const service = await backend.start({
        settings: { backoff: '3', eos: '2020-01-01', eos_message: 'moved', eos_url: 'https://new.example/' },
      });
      try {
        const events = new EventEmitter();
        const told: unknown[] = [];
        for (const name of ['backoff', 'deprecated']) events.on(name, (event) => told.push([name, event]));
        const client: any = new KintoClient(`${service.origin}/v1`, { events });
        // The service has ended: it answers 410 and says why.
        await expect(client.fetchServerInfo()).rejects.toThrow(/410/);
        expect(told).toEqual([
          ['deprecated', expect.objectContaining({ code: 'hard-eol', message: 'moved', url: 'https://new.example/' })],
          ['backoff', expect.any(Number)],
        ]);
      } finally {
        await service.close();
      }
    });

    it('makes accounts, which log in and own what they make', async () => {
      const service = await backend.start({
        settings: {
          includes: 'accounts default_bucket',
          account_hash_cost: '10',
          'multiauth.policies': 'account',
          'multiauth.policy.account.use': 'AccountsPolicy',
          account_create_principals: 'system.Everyone',
          account_write_principals: 'account:admin',
        },
      });
      try {
        const client = (headers: object): any => new KintoClient(`${service.origin}/v1`, { headers: headers as never });
        const { data } = await client({}).createAccount('erin', 'a long password');
        expect(data.id).toBe('erin');
        const login = `Basic ${Buffer.from('erin:a long password').toString('base64')}`;
        const erin = client({ Authorization: login });
        expect((await erin.fetchUser()).id).toBe('account:erin');
        await erin.createBucket('of-erin');
        expect(await erin.bucket('of-erin').getPermissions()).toEqual({ write: ['account:erin'] });
        await expect(client({}).createAccount('erin', 'another password')).rejects.toThrow(/401/);
      } finally {
        await service.close();
      }
    });

    it('refuses to synchronise during a pause unless forced', async () => {
      const service = await backend.start({ settings: { includes: 'default_bucket', backoff: '30' } });
      try {
        const collection: any = new Kinto({
          remote: `${service.origin}/v1`,
          headers: { Authorization: authorizationOf('dave') },
          bucket: 'default',
          adapterOptions: { dbName: `${backend.name}-paused` },
          events: new EventEmitter(),
        }).collection('paused');
        await collection.create({ n: 1 });
        expect(await collection.sync()).toMatchObject({ ok: true });
        await expect(collection.sync()).rejects.toThrow(/back off/);
        expect(await collection.sync({ ignoreBackoff: true, strategy: 'manual' })).toMatchObject({ ok: true });
      } finally {
        await service.close();
      }
    });
  });
}
