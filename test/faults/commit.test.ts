// The connection breaks while the backend commits, so the outcome is unknown. The request is neither acknowledged nor run
// again. It is stored completely or not at all.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { runSql } from '../support/postgresql-setup.ts';
import { ServerProcess } from '../support/server-process.ts';
import { startPostgresql } from './on-postgresql.ts';
import { startRedis } from './on-redis.ts';

const bucket = '/buckets/b';
const records = `${bucket}/collections/c/records`;

/** A batch over several lists, whose objects have permissions. */
function batchOf(id: string): object {
  const permissions = { read: ['system.Everyone'] };
  return {
    defaults: { method: 'PUT' },
    requests: [
      { path: `${records}/${id}`, body: { data: { id }, permissions } },
      { path: `${bucket}/collections/${id}`, body: { permissions } },
      { path: `${bucket}/groups/${id}`, body: { data: { members: ['someone'] }, permissions } },
    ],
  };
}

/** Status of each object of the batch, and whether the permissions are there that were written with it. */
async function look(client: Client, id: string): Promise<readonly unknown[]> {
  const paths = [`${records}/${id}`, `${bucket}/collections/${id}`, `${bucket}/groups/${id}`];
  const answers = await Promise.all(paths.map((path) => client.request('GET', path)));
  return answers.map(({ status, body }) => (status === 200 ? body.permissions.read : status));
}

const everything = [['system.Everyone'], ['system.Everyone'], ['system.Everyone']];

describe.each([
  // What the server says when a commit has happened: of a unit of work, and of a single-statement write, whose function names its
  // column in an answer that leaves after the commit.
  { backend: 'PostgreSQL', open: startPostgresql, done: 'COMMIT\0', doneAlone: 'coffer_create_together\0' },
  { backend: 'Redis', open: startRedis, done: '$4\r\ndone\r\n', doneAlone: '$4\r\ndone\r\n' },
])('a commit on $backend whose answer is lost', ({ backend, open, done, doneAlone }) => {
  let place: Awaited<ReturnType<typeof startPostgresql>> | Awaited<ReturnType<typeof startRedis>>;
  let service: ServerProcess;
  let client: Client;

  beforeAll(async () => {
    place = await open();
    service = await ServerProcess.start(place.workspace, place.environment);
    client = new Client(service.url, 'alice');
    for (const path of [bucket, `${bucket}/collections/c`]) await client.request('PUT', path);
  });
  afterAll(async () => {
    await service.stop();
    await place.remove();
  });

  test('is a 503, and everything of it is there.', async () => {
    const cut = place.network.cutInsteadOf(done);
    const answer = await client.request('POST', '/batch', batchOf('lost'));
    await cut;
    expect(answer).toMatchObject({ status: 503, body: { errno: 201 } });
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await look(client, 'lost')).toEqual(everything);
  });

  test('can be repeated by the client, which sees that it was done.', async () => {
    const cut = place.network.cutInsteadOf(done);
    const first = await client.request('PUT', `${records}/twice`, { data: { n: 1 } }, { 'if-none-match': '*' });
    await cut;
    expect(first.status).toBe(503);
    const second = await client.request('PUT', `${records}/twice`, { data: { n: 1 } }, { 'if-none-match': '*' });
    expect([second.status, second.body.details.existing.n]).toEqual([412, 1]);
  });

  test('is not done a second time by the service itself.', async () => {
    const { headers } = await client.request('GET', records);
    const cut = place.network.cutInsteadOf(doneAlone);
    expect((await client.request('POST', records, { data: { n: 1 } })).status).toBe(503);
    await cut;
    const since = encodeURIComponent(headers.get('etag') ?? '');
    const { body } = await client.request('GET', `${records}?_since=${since}`);
    expect(body.data).toHaveLength(1);
  });

  // A commit takes no time on Redis, where nothing can come in between.
  if (backend === 'PostgreSQL') {
    test('is a 503 when the server ends the session before it is done, and nothing of it is there.', async () => {
      if (!('url' in place)) throw new Error('expected a PostgreSQL server');
      const { url } = place;
      await runSql(
        url,
        `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END';
        CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON coffer_objects DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION slow()`,
      );
      const writing = client.request('POST', '/batch', batchOf('cut'));
      const ended = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'COMMIT' AND state = 'active'`;
      while ((await runSql(url, ended)).length === 0);
      expect(await writing).toMatchObject({ status: 503, body: { errno: 201 } });
      expect(await look(client, 'cut')).toEqual([404, 404, 404]);
    });
  }
});
