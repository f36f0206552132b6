// Buckets and collections are deleted and made again while others write into them, through two processes where the
// backend allows it: whatever wins, nothing stays behind without its parent.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { cloneDatabase } from '../support/postgresql.ts';
import { runSql } from '../support/postgresql-setup.ts';
import { backends, ServerProcess, Workspace } from '../support/server-process.ts';
import { askPostgresql, askSqlite, findLeftovers, untilReaped, type Ask } from './leftovers.ts';
import { inExtent } from '../support/extent.ts';

const writers = 10;
/** Each kind of deletion once, or three times. */
const rounds = inExtent(5, 15);
const bucket = '/buckets/busy';

describe.each(inExtent(['sqlite', 'postgresql'], backends))('on %s', (backend) => {
  let workspace: Workspace;
  let ask: Ask | undefined;
  let databaseUrl: string | undefined;
  let dropDatabase = async (): Promise<void> => {};
  const servers: ServerProcess[] = [];
  const clientOf = (n: number, user = 'owner'): Client => new Client(servers[n % servers.length]!.url, user);
  let member: string;

  beforeAll(async () => {
    workspace = await Workspace.create();
    const database = backend === 'postgresql' ? await cloneDatabase() : undefined;
    dropDatabase = database?.drop ?? dropDatabase;
    databaseUrl = database?.url;
    if (databaseUrl !== undefined) ask = askPostgresql(databaseUrl);
    if (backend === 'sqlite') ask = askSqlite(join(workspace.folder, 'coffer.sqlite3'));
    const environment = {
      ...workspace.environment(backend, databaseUrl),
      SVC_BUCKET_CREATE_PRINCIPALS: 'system.Authenticated',
      SVC_SQLITE_SYNCHRONOUS: 'OFF',
    };
    const isShared = backend === 'postgresql' || backend === 'redis';
    for (let n = 0; n < (isShared ? 2 : 1); n++) {
      servers.push(await ServerProcess.start(workspace, environment));
    }
    member = (await clientOf(0, 'member').request('GET', '/')).body.user.id;
  });
  afterAll(async () => {
    for (const server of servers) await server.kill();
    await dropDatabase();
    await workspace.remove();
  });

  /** Writes of all sorts below the bucket until the function says that it is over; answers how they ended. */
  async function write(writer: number, isOver: () => boolean): Promise<ReadonlyMap<number, number>> {
    const statuses = new Map<number, number>();
    const note = (status: number): void => void statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const permissions = { read: [member], write: ['system.Everyone'] };
    for (let n = 0; !isOver(); n++) {
      const client = clientOf(n + writer);
      const collection = `${bucket}/collections/c${n % 3}`;
      const change = { data: { n }, permissions };
      switch ((n + writer) % 7) {
        case 0:
          note((await client.request('PUT', `${bucket}/groups/g${writer}`, { data: { members: [member] } })).status);
          break;
        case 1:
          note((await client.request('PUT', collection, { permissions: { 'record:create': [member] } })).status);
          break;
        case 2:
          note((await client.request('PATCH', bucket, { data: { n }, permissions: { read: [member] } })).status);
          break;
        case 3: {
          const requests = [
            { method: 'PUT', path: `${bucket}/collections/b${writer}`, body: change },
            { method: 'PUT', path: `${bucket}/collections/b${writer}/records/r`, body: change },
            { method: 'PUT', path: `${bucket}/groups/b${writer}`, body: { data: { members: [member] } } },
          ];
          const { status, body } = await client.request('POST', '/batch', { requests });
          note(status);
          for (const response of body.responses ?? []) note(response.status);
          break;
        }
        case 4:
          note((await client.request('DELETE', `${collection}/records/${writer}-${(n - 2) % 5}`)).status);
          break;
        default:
          note((await client.request('PUT', `${collection}/records/${writer}-${n % 5}`, change)).status);
      }
    }
    return statuses;
  }

  /** What deletes: one collection, all collections, the bucket, all buckets; then what is missing is made again. */
  async function deleteAndRecreate(round: number): Promise<void> {
    const client = clientOf(round);
    const targets = [bucket, `${bucket}/collections`, `${bucket}/collections/c0`, '/buckets', `${bucket}/groups`];
    const { status, body } = await client.request('DELETE', targets[round % targets.length]!);
    expect([200, 404, 403], JSON.stringify(body)).toContain(status);
    await recreate(clientOf(round + 1));
  }

  async function recreate(client: Client): Promise<void> {
    expect((await client.request('PUT', bucket)).status).toBeLessThan(300);
    for (const n of [0, 1, 2]) await client.request('PUT', `${bucket}/collections/c${n}`);
  }

  async function run(): Promise<void> {
    await recreate(clientOf(0));
    let isOver = false;
    const writing = Array.from({ length: writers }, (_, writer) => write(writer, () => isOver));
    try {
      for (let round = 0; round < rounds; round++) await deleteAndRecreate(round);
      // While they still write, so that the last deletion, too, has something in its way.
      const { status, body } = await clientOf(0).request('DELETE', bucket);
      expect([200, 404], JSON.stringify(body)).toContain(status);
    } finally {
      // Whatever went wrong: those who write would hold up the tests that follow.
      isOver = true;
      await Promise.allSettled(writing);
    }
    const total = new Map<number, number>();
    for (const statuses of await Promise.all(writing)) {
      for (const [key, count] of statuses) total.set(key, (total.get(key) ?? 0) + count);
    }
    const told = JSON.stringify([...total]);
    expect(
      [...total.keys()].filter((key) => ![200, 201, 403, 404].includes(key)),
      told,
    ).toEqual([]);
    expect(total.get(201), told).toBeGreaterThan(rounds);
  }

  test('nothing is left of a bucket that was deleted under writers', { timeout: 180_000 }, async () => {
    await run();
    if (ask !== undefined) {
      await untilReaped(ask);
      expect(await findLeftovers(ask)).toEqual([]);
    }
    // A client that creates the bucket again finds no objects of other clients in it.
    await clientOf(0).request('DELETE', bucket);
    const heir = clientOf(0, 'heir');
    const made = await heir.request('PUT', bucket);
    expect(made.status).toBe(201);
    expect(Object.values(made.body.permissions)).toEqual([[expect.stringContaining('basicauth:')]]);
    for (const list of ['groups', 'collections']) await expectEmpty(heir, `${bucket}/${list}`);
    const collections = ['c0', 'c1', 'c2', ...Array.from({ length: writers }, (_, n) => `b${n}`)];
    for (const id of collections) {
      await heir.request('PUT', `${bucket}/collections/${id}`);
      await expectEmpty(heir, `${bucket}/collections/${id}/records`);
    }
    const { body } = await clientOf(0, 'member').request('GET', '/');
    expect(body.user.principals.filter((principal: string) => principal.startsWith('/buckets/'))).toEqual([]);
    const blind = await clientOf(0, 'member').request('GET', `${bucket}/collections/c0/records/0-0`);
    expect(blind.status).toBe(403);
    await heir.request('DELETE', bucket);
  });

  test('nothing is left without its parent when the bucket was made again', { timeout: 180_000 }, async () => {
    await run();
    await recreate(clientOf(1));
    for (const n of [0, 1]) {
      await clientOf(n).request('PUT', `${bucket}/groups/again`, { data: { members: [member] } });
      const again = { data: { n }, permissions: { read: [member] } };
      await clientOf(n).request('PUT', `${bucket}/collections/c0/records/again${n}`, again);
    }
    const { body } = await clientOf(0).request('GET', `${bucket}/collections/c0/records`);
    expect(body.data.length).toBeGreaterThan(1);
    expect(await countObjects(clientOf(0), `${bucket}/collections/c0/records`)).toBe(body.data.length);
    if (ask !== undefined) {
      await untilReaped(ask);
      expect(await findLeftovers(ask)).toEqual([]);
    }
  });

  test.runIf(backend === 'postgresql')('what looks for leftovers finds them', async () => {
    expect(await findLeftovers(ask!)).toEqual([]);
    await runSql(databaseUrl!, `DELETE FROM coffer_objects WHERE parent = '' AND id = 'busy'`);
    const found = (await findLeftovers(ask!)).join('\n');
    for (const name of ['c0 has no parent', 'counts 1, has 0', 'counts without parent', 'an entry is left']) {
      expect(found).toContain(name);
    }
  });
});

async function expectEmpty(client: Client, list: string): Promise<void> {
  const { status, body } = await client.request('GET', list);
  expect({ list, status, data: body.data }).toEqual({ list, status: 200, data: [] });
  expect(await countObjects(client, list)).toBe(0);
}

/** What the header of a list says. */
async function countObjects(client: Client, list: string): Promise<number> {
  return Number((await client.request('HEAD', list)).headers.get('total-objects') ?? Number.NaN);
}
