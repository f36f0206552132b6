// Changes that another process stores: with hints, and where hints do not exist or are lost.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { databaseSettings, postgresqlSettings } from '../support/backends.ts';
import { borrowDatabase } from '../support/postgresql.ts';
import { inExtent } from '../support/extent.ts';
import { requireRedisUrl } from '../support/redis.ts';
import { RedisCluster } from '../support/redis-cluster.ts';
import { EventClient } from './event-client.ts';

const records = '/v1/buckets/b/collections/c/records';

/** Settings of a database that several services share. */
const places = {
  async sqlite() {
    const folder = await mkdtemp(path.join(tmpdir(), 'coffer-test-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const url = path.join(folder, 'coffer.sqlite3');
    const kinds = ['storage', 'permission', 'cache'];
    return Object.fromEntries(
      kinds.flatMap((kind) => [
        [`${kind}_backend`, 'sqlite'],
        [`${kind}_url`, url],
      ]),
    );
  },
  async postgresql() {
    const { url, giveBack } = await borrowDatabase();
    onTestFinished(giveBack);
    return postgresqlSettings(url);
  },
  redis() {
    return Promise.resolve({ ...databaseSettings('redis', requireRedisUrl()), redis_prefix: `test-${randomUUID()}:` });
  },
} satisfies Record<string, () => Promise<Record<string, string>>>;

/** Each parent may lie on another node, and every node passes hints on. */
const clustered: Record<string, () => Promise<Record<string, string>>> = {
  async 'a redis cluster'() {
    const cluster = await RedisCluster.start();
    onTestFinished(() => cluster.remove());
    return { ...databaseSettings('redis', cluster.url), redis_prefix: `test-${randomUUID()}:` };
  },
};

describe.each(Object.entries({ ...places, ...inExtent<typeof clustered>({}, clustered) }))(
  'followers of another process on %s',
  (_, open) => {
    it('receive its changes and flushes, and see when access is lost there', { timeout: 120_000 }, async () => {
      const settings = { ...(await open()), includes: 'flush', live_recheck_seconds: '0.5' };
      const writing = await start(settings);
      const reading = await start(settings);
      const write = async (method: string, at: string, body?: object): Promise<void> => {
        const { status, text } = await writing.request(method, at, {
          auth: 'alice',
          ...(body === undefined ? {} : { body }),
        });
        expect(status, text).toBeLessThan(300);
      };
      const collection = '/v1/buckets/b/collections/c';
      const create = async (): Promise<void> => {
        await write('PUT', '/v1/buckets/b');
        await write('PUT', collection, { permissions: { read: ['system.Everyone'] } });
      };
      await create();
      const stream = await EventClient.open(reading.origin, `${records}?_live=sse`, { auth: 'alice' });
      const open2 = await EventClient.open(reading.origin, `${records}?_live=sse`);
      await Promise.all([stream.until('current'), open2.until('current')]);
      for (const id of ['a', 'b', 'c']) {
        await write('PUT', `${records}/${id}`, { data: { n: 1 } });
        for (const each of [stream, open2])
          expect((await each.until('changes')).data).toMatchObject({ data: [{ id }] });
      }
      await write('PATCH', collection, { permissions: { read: [] } });
      expect((await open2.until('end')).data).toMatchObject({ errno: 121 });
      await write('DELETE', `${records}/a`);
      expect((await stream.until('changes')).data).toMatchObject({ data: [{ id: 'a', deleted: true }] });
      const waiting = reading.request('GET', `${records}?_live=poll&_wait=60&_since=${await clockOf(reading)}`, {
        auth: 'alice',
      });
      await write('PUT', `${records}/d`);
      expect((await waiting).body).toMatchObject({ data: [{ id: 'd' }] });
      const buckets = await EventClient.open(reading.origin, '/v1/buckets?_live=sse', { auth: 'alice' });
      await buckets.until('current');
      await write('POST', '/v1/__flush__');
      expect((await buckets.until('resync')).data.reason).toMatch(/^(?:flushed|access)$/);
      expect((await stream.until('end')).data).toMatchObject({ code: 403 });
      buckets.close();
    });
  },
);

async function start(settings: Readonly<Record<string, string>>): Promise<TestService> {
  const service = await startTestService({ settings });
  onTestFinished(() => service.close());
  return service;
}

async function clockOf(service: TestService): Promise<number> {
  const { headers } = await service.request('HEAD', records, { auth: 'alice' });
  return Number(headers['etag']!.slice(1, -1));
}
