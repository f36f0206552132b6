// The guided tour of examples/ against real server processes, one per backend: what it tells readers is true.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Narrator } from '../../examples/tour/narrator.mjs';
import { startServer } from '../../examples/tour/server.mjs';
import { prepare, takeTour } from '../../examples/tour/tour.mjs';

const patienceMs = 180_000;
const quiet = { created: 0, updated: 0, deleted: 0, published: 0, conflicts: 0, resolved: 0, errors: 0 };
const ok = { ...quiet, ok: true };

const backends = {
  sqlite: {},
  memory: { SVC_STORAGE_BACKEND: 'memory', SVC_PERMISSION_BACKEND: 'memory', SVC_CACHE_BACKEND: 'memory' },
};

describe.each(Object.entries(backends))('the guided tour on %s', (_name, environment) => {
  const told: string[] = [];
  let server: Awaited<ReturnType<typeof startServer>>;
  let tour: ReturnType<typeof prepare>;
  let facts: Awaited<ReturnType<typeof takeTour>>;

  beforeAll(async () => {
    server = await startServer({
      SVC_EXPERIMENTAL_PERMISSIONS_ENDPOINT: 'true',
      SVC_LOG_LEVEL: 'info',
      ...environment,
    });
    const narrator = new Narrator({ write: (text) => void told.push(text), isTerminal: false });
    tour = prepare({ api: server.api, narrator });
    facts = await takeTour(tour);
  }, patienceMs);

  afterAll(async () => {
    await server.stop();
  }, patienceMs);

  it('has two users and a service that lists its features', () => {
    const { hello } = facts;
    expect(hello.httpApiVersion).toBe('1.23');
    expect(hello.anonymousUser).toBeUndefined();
    expect(hello.aliceId).toMatch(/^basicauth:[0-9a-f]{64}$/);
    expect(hello.bobId).not.toBe(hello.aliceId);
    expect(hello.personalBucket).toMatch(/^[0-9a-f-]{36}$/);
    expect(hello.capabilities).toEqual(expect.arrayContaining(['basicauth', 'default_bucket', 'permissions_endpoint']));
    expect(hello.batchSize).toBe(25);
  });

  it('loads several thousand records in batches that can be repeated without harm', () => {
    const { loaded } = facts;
    expect(tour.languages.length).toBeGreaterThan(7000);
    expect(loaded.created).toBe(tour.languages.length);
    expect(loaded.batches).toBe(Math.ceil(tour.languages.length / 25));
    expect(loaded.repeated).toEqual({ sent: 25, refused: 25, named: loaded.firstIds });
    expect(loaded.posted).toEqual({ sent: 25, found: 25, names: loaded.firstNames });
  });

  it('finds with each filter what a search through the data itself finds', () => {
    const { answered } = facts;
    expect(answered.total).toBe(tour.languages.length);
    expect(answered.totalLiving).toBe(answered.expectedLiving);
    expect(answered.answers).toHaveLength(12);
    for (const { query, ids, expected } of answered.answers) {
      expect(expected, query).not.toEqual([]);
      expect(ids, query).toEqual(expected);
    }
    expect(answered.sorted).toEqual(answered.expectedSorted);
    expect(answered.fields).toEqual(['id', 'last_modified', 'letters', 'name']);
  });

  it('sees each record once when it walks through the pages, in the order asked for', () => {
    const { walked, answered } = facts;
    const all = walked.total;
    expect(walked.newestFirst).toEqual({ pages: Math.ceil(all / 1000), seen: all, distinct: all, isInOrder: true });
    const living = answered.expectedLiving;
    expect(walked.byName).toEqual({
      pages: Math.ceil(living / 2000),
      seen: living,
      distinct: living,
      isInOrder: true,
    });
  });

  it('learns exactly what has changed since it last looked, and nothing when nothing has', () => {
    const { followed } = facts;
    expect([followed.unchanged, followed.still]).toEqual([304, 304]);
    expect(followed.removedIds.toSorted()).toEqual(['mis', 'mul', 'und', 'zxx']);
    const expected = [
      { id: followed.changedId, deleted: false },
      { id: followed.addedId, deleted: false },
      ...followed.removedIds.map((id) => ({ id, deleted: true })),
    ];
    expect(followed.news.toReversed()).toEqual(expected);
    expect(followed.timestamps).toEqual(followed.timestamps.toSorted((a, b) => b - a));
    expect(followed.timestamps.at(-1)).toBeGreaterThan(followed.seen);
    expect(followed.timestamps[0]).toBe(followed.latest);
    expect(followed.quiet).toEqual([]);
    expect(followed.totals.after).toBe(followed.totals.before + 1 - 4);
  });

  it('changes parts of a record in three formats', () => {
    const { patched } = facts;
    expect(patched.plain).toMatchObject({
      name: 'Esperanto',
      speakers: 'many',
      status: 'draft',
      links: { home: 'https://example.org/eo', old: 'https://example.org/x' },
    });
    expect(patched.merged['links']).toEqual({ home: 'https://example.org/eo', more: 'https://example.org/more' });
    expect(patched.merged).not.toHaveProperty('speakers');
    expect(patched.operated).toMatchObject({ status: 'final', parts: [1, 2, 3, 5] });
    expect(patched.readers).toEqual(['system.Everyone']);
    expect(patched.failed).toBe(400);
    expect(patched.light).toEqual({ status: 'archived' });
    expect(patched.final).toMatchObject({ name: 'Esperanto', status: 'archived', parts: [1, 2, 3, 5] });
  });

  it('overwrites nothing it has not seen, and one of many writers wins', () => {
    const { guarded } = facts;
    expect(guarded.taken).toEqual({ status: 412, existing: 'Latin' });
    expect(guarded.changed).toBe(200);
    expect(guarded.stale).toEqual({ status: 412, existing: guarded.current });
    expect(guarded.race.won).toBe(1);
    expect(guarded.race.stored).toBe(guarded.race.winner);
  });

  it('shares one record and then the collection with the members of a group', () => {
    const { shared, hello } = facts;
    expect([shared.anonymous, shared.before]).toEqual([401, 403]);
    expect(shared.publicOnes).toEqual(['epo']);
    expect(shared.granted?.toSorted()).toEqual([shared.group, hello.aliceId].toSorted());
    expect(shared.oneRecord).toEqual(['epo', 'lat']);
    expect([shared.written, shared.other, shared.stillOther]).toEqual([200, 403, 403]);
    expect(shared.everything).toBe(shared.total);
    const listed = shared.listed?.map(({ uri, permissions }) => ({
      uri,
      permissions: Array.isArray(permissions) ? permissions.map(String).toSorted() : permissions,
    }));
    expect(listed).toEqual([
      { uri: tour.collection, permissions: ['read', 'read:attributes'] },
      { uri: `${tour.records}/epo`, permissions: ['read'] },
      { uri: `${tour.records}/lat`, permissions: ['read', 'write'] },
    ]);
    expect(shared.left).toEqual(['epo', 'lat']);
  });

  it('synchronises two devices with kinto.js in both directions, offline changes included', () => {
    const { synchronised, shared } = facts;
    expect(synchronised.first).toEqual({
      phone: { ...ok, created: shared.total },
      laptop: { ...ok, created: shared.total },
    });
    expect(synchronised.creation).toEqual({ sent: { ...ok, published: 1 }, fetched: { ...ok, created: 1 } });
    expect(synchronised.update).toMatchObject({
      sent: { ...ok, published: 1 },
      fetched: { ...ok, updated: 1 },
      name: 'Phonish, revised',
    });
    expect(synchronised.deletion).toEqual({ sent: { ...ok, published: 1 }, fetched: { ...ok, deleted: 1 } });
    expect(synchronised.offline).toMatch(/fetch failed/);
    expect(synchronised.reunion).toMatchObject({
      sent: { ...ok, published: 2 },
      fetched: { ...ok, created: 1, updated: 1, published: 2 },
      back: { ...ok, updated: 1, deleted: 1 },
    });
    expect(synchronised.equal).toEqual({ records: shared.total, phone: true, laptop: true });
  });

  it('settles conflicts by hand and by rule, and both devices end equal to the service', () => {
    const { settled, shared } = facts;
    const merged = 'phone; laptop';
    expect(settled.manual).toEqual({
      ...quiet,
      ok: false,
      conflicts: 1,
      settled: { ...ok, published: 1 },
      notes: [merged, merged, merged],
    });
    expect(settled.serverWins).toEqual({ ...ok, resolved: 1, notes: ['phone', 'phone', 'phone'] });
    expect(settled.clientWins).toEqual({ ...ok, published: 1, resolved: 1, notes: ['laptop', 'laptop', 'laptop'] });
    expect(settled.revived).toEqual({ ...ok, published: 1, resolved: 1, notes: ['laptop', 'laptop', 'laptop'] });
    expect(settled.equal).toEqual({ records: shared.total, phone: true, laptop: true });
  });

  it('tells each of its chapters in plain lines when there is no terminal', () => {
    const text = told.join('');
    expect([...text.matchAll(/^\d+\. (.+)$/gm)].map(([, title]) => title)).toEqual([
      'Hello',
      'Load the languages of the world',
      'Ask questions',
      'Walk through all of it',
      'Follow what changes',
      'Change a part',
      'Do not overwrite each other',
      'Share a part of it',
      'Synchronise two devices',
      'Settle conflicts',
    ]);
    expect(text).toContain(`languages ${tour.languages.length} of ${tour.languages.length}, 100 %`);
    expect(text).toContain('records: the same');
    expect(text).not.toContain('NOT the same');
    expect(text).not.toContain('\r');
    expect(text).not.toContain('\u001B');
  });
});
