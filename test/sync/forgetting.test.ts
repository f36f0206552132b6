// Tombstones are purged, histories trimmed, and the rows of deleted collections removed under writers and followers: only the
// intended entries are removed, and a client that has missed a deletion is informed.
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { purgeDeleted } from '../../src/maintenance/deletions.ts';
import { settingsOf } from '../../src/backends/load-settings.ts';
import type { Settings } from '../../src/settings/settings.ts';
import { Client } from '../support/client.ts';
import { cloneDatabase } from '../support/postgresql.ts';
import { RedisProcess } from '../support/redis.ts';
import { backends, ServerProcess, Workspace } from '../support/server-process.ts';
import { Follower } from './follower.ts';
import { askPostgresql, askSqlite, findLeftovers, untilReaped, type Ask } from './leftovers.ts';
import { inExtent } from '../support/extent.ts';

const writers = 5;
const purges = 4;
const historyEntries = 20;
const threshold = 5;
const bucket = '/buckets/forgetful';
const steady = `${bucket}/collections/steady/records`;
const brief = `${bucket}/collections/brief/records`;

/** What the answers said of one record: its last timestamp, and whether that is of its deletion. */
interface Known {
  readonly time: number;
  readonly isDeleted: boolean;
}

describe.each(
  inExtent(
    ['sqlite'],
    backends.filter((backend) => backend !== 'memory'),
  ),
)('on %s', (backend) => {
  let workspace: Workspace;
  let server: ServerProcess;
  let settings: Settings;
  let ask: Ask | undefined;
  /** Reports each acknowledged change. */
  const written = new EventEmitter().setMaxListeners(0);
  let cleanUp = async (): Promise<void> => {};

  beforeAll(async () => {
    workspace = await Workspace.create();
    const environment = workspace.environment(backend, await findUrl());
    const named = Object.entries(environment).map(([name, value]) => [name.slice('SVC_'.length).toLowerCase(), value]);
    settings = settingsOf(Object.fromEntries(named) as Record<string, string>);
    server = await ServerProcess.start(workspace, {
      ...environment,
      SVC_INCLUDES: 'history',
      SVC_HISTORY_AUTO_TRIM_MAX_COUNT: String(historyEntries),
      SVC_HISTORY_AUTO_TRIM_THRESHOLD: String(threshold),
      SVC_SQLITE_SYNCHRONOUS: 'OFF',
    });
  });
  afterAll(async () => {
    await server.kill();
    await cleanUp();
    await workspace.remove();
  });

  async function findUrl(): Promise<string | undefined> {
    if (backend === 'postgresql') {
      const { url, drop } = await cloneDatabase();
      cleanUp = drop;
      ask = askPostgresql(url);
      return url;
    }
    if (backend === 'redis') {
      const redis = await RedisProcess.start();
      cleanUp = () => redis.remove();
      return redis.url;
    }
    ask = askSqlite(join(workspace.folder, 'coffer.sqlite3'));
    return undefined;
  }

  const clientOf = (): Client => new Client(server.url, 'owner');

  async function recreate(collection: string): Promise<void> {
    await clientOf().request('PUT', collection.slice(0, -'/records'.length));
  }

  /** Creates, deletes and brings back records of its own, and notes what it was answered. */
  async function write(writer: number, ledger: Map<string, Known>, isOver: () => boolean): Promise<void> {
    const client = clientOf();
    for (let n = 0; !isOver(); n++) {
      // Of three, the second is deleted; every fourth of those comes back.
      const isDeleted = n % 3 === 2;
      const id = `${writer}-${n % 12 === 0 && n > 0 ? n - 5 : isDeleted ? n - 1 : n}`;
      const { status, body } = isDeleted
        ? await client.request('DELETE', `${steady}/${id}`)
        : await client.request('PUT', `${steady}/${id}`, { data: { n } });
      expect(status, JSON.stringify(body)).toBeLessThan(300);
      ledger.set(id, { time: body.data.last_modified, isDeleted });
      // The collection may be gone at the moment.
      const other = await client.request('PUT', `${brief}/${id}`, { data: { n } });
      expect([200, 201, 403, 404]).toContain(other.status);
      written.emit('change');
    }
  }

  test(
    'what is old goes, the rest stays, and followers end with the state of the server',
    { timeout: 120_000 },
    async () => {
      await clientOf().request('PUT', bucket);
      for (const list of [steady, brief]) await recreate(list);
      const ledger = new Map<string, Known>();
      let isOver = false;
      const followers = [steady, brief].flatMap((list) => [
        { follower: new Follower(clientOf(), list, undefined), pauseChanges: 1 },
        { follower: new Follower(clientOf(), list, 10), pauseChanges: 1 },
        // Away for longer than tombstones are kept.
        { follower: new Follower(clientOf(), list, undefined), pauseChanges: 60 },
      ]);
      const following = followers.map(async ({ follower, pauseChanges }, index) => {
        while (!isOver) {
          // A list that is deleted at the moment cannot be followed; it is when it is there again.
          if (index < 3) await follower.poll();
          else await follower.poll().catch(() => undefined);
          for (let n = 0; n < pauseChanges && !isOver; n++) await once(written, 'change');
        }
      });
      let limit = 0;
      let purged = 0;
      const writing = Array.from({ length: writers }, (_, writer) => write(writer, ledger, () => isOver));
      try {
        for (let round = 0; round < purges; round++) {
          const seen = Math.max(0, ...Array.from(ledger.values(), ({ time }) => time));
          const isFurther = (): boolean => [...ledger.values()].filter(({ time }) => time > seen).length > 30;
          while (!isFurther()) await once(written, 'change');
          limit = seen;
          purged += await purgeDeleted(settings, { kinds: ['record'], before: limit });
          await clientOf().request('DELETE', brief.slice(0, -'/records'.length));
          await recreate(brief);
        }
      } finally {
        isOver = true;
        written.emit('change');
        await Promise.allSettled([...writing, ...following]);
      }
      await Promise.all([...writing, ...following]);

      expect(purged).toBeGreaterThan(0);
      await expectAsTold(ledger, limit);
      for (const [index, { follower }] of followers.entries()) {
        await follower.poll();
        const list = index < 3 ? steady : brief;
        const stored = (await clientOf().readAll(list)) as { id: string; last_modified: number; n: number }[];
        expect(follower.copy).toEqual(new Map(stored.map(({ id, last_modified, n }) => [id, { last_modified, n }])));
      }
      // Who slept has missed something, and knows.
      expect(followers[2]!.follower.resyncs + followers[5]!.follower.resyncs).toBeGreaterThan(0);
      await expectTrimmed(ledger);
      if (ask !== undefined) {
        await untilReaped(ask);
        // Of histories, whose lists are named otherwise, it would say that nothing has a parent.
        const left = (await findLeftovers(ask)).filter((each) => !each.includes(`${bucket}/history`));
        expect(left).toEqual([]);
      }
    },
  );

  /** All that is live is there, and of the tombstones exactly those that are not older than the limit. */
  async function expectAsTold(ledger: ReadonlyMap<string, Known>, limit: number): Promise<void> {
    const ofState = (isDeleted: boolean): readonly (readonly [string, number])[] =>
      [...ledger].filter(([, known]) => known.isDeleted === isDeleted).map(([id, { time }]) => [id, time] as const);
    const live = (await clientOf().readAll(steady)) as { id: string; last_modified: number }[];
    expect(new Map(live.map(({ id, last_modified }) => [id, last_modified]))).toEqual(new Map(ofState(false)));
    const dead = (await clientOf().readAll(`${steady}?_since=0&deleted=true`)) as {
      id: string;
      last_modified: number;
    }[];
    expect(new Map(dead.map(({ id, last_modified }) => [id, last_modified]))).toEqual(
      new Map(ofState(true).filter(([, time]) => time >= limit)),
    );
    expect(ofState(true).some(([, time]) => time < limit)).toBe(true);
  }

  /** The history of the steady collection has its newest entries, the last change of each record that is new enough. */
  async function expectTrimmed(ledger: ReadonlyMap<string, Known>): Promise<void> {
    const entries = (await clientOf().readAll(`${bucket}/history?resource_name=record`)) as {
      record_id: string;
      collection_id: string;
      target: { data: { last_modified: number } };
    }[];
    expect(entries.length).toBeGreaterThanOrEqual(historyEntries);
    const ofSteady = entries.filter(({ collection_id: collection }) => collection === 'steady');
    const oldest = Math.min(...ofSteady.map(({ target }) => target.data.last_modified));
    const told = new Set(ofSteady.map(({ record_id: id, target }) => `${id} ${target.data.last_modified}`));
    for (const [id, { time }] of ledger) if (time > oldest) expect(told).toContain(`${id} ${time}`);
  }
});
