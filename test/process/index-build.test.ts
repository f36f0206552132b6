// A server that is killed while it builds indexes continues the build, and its queries stay right.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backends, ServerProcess, Workspace } from '../support/server-process.ts';
import { borrowDatabase } from '../support/postgresql.ts';

const collection = '/buckets/b/collections/c';
const headers = {
  'Content-Type': 'application/json',
  Authorization: `Basic ${Buffer.from('alice:secret').toString('base64')}`,
};
const count = 3000;
const values = 10;

interface IndexReport {
  readonly state: string;
  readonly done: number;
}

describe.each(backends.filter((backend) => backend !== 'memory'))('a killed build on %s', (backend) => {
  const hasSearch = backend !== 'redis';
  let workspace: Workspace;
  let server: ServerProcess;
  let environment: Record<string, string>;
  let giveBack: (() => Promise<void>) | undefined;
  beforeEach(async () => {
    workspace = await Workspace.create();
    const database = backend === 'postgresql' ? await borrowDatabase() : undefined;
    giveBack = database?.giveBack;
    environment = { ...workspace.environment(backend, database?.url), SVC_BATCH_MAX_REQUESTS: '1000' };
    server = await ServerProcess.start(workspace, environment);
  });
  afterEach(async () => {
    await server.kill();
    await giveBack?.();
    await workspace.remove();
  });

  const send = (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(server.url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const total = async (query: string): Promise<number> =>
    Number((await send('HEAD', `${collection}/records?${query}`)).headers.get('total-objects'));
  const report = async (): Promise<IndexReport> => {
    const { data } = (await (await send('GET', `${collection}/indexes`)).json()) as { data: IndexReport[] };
    return data[0]!;
  };

  it('goes on after each kill, and finds every record', { timeout: 120_000 }, async () => {
    await send('PUT', '/buckets/b');
    await send('PUT', collection);
    for (let start = 0; start < count; start += 1000) {
      const requests = Array.from({ length: 1000 }, (_, n) => ({
        path: `${collection}/records/r${start + n}`,
        body: { data: { n: (start + n) % values, title: `digit${(start + n) % values} all` } },
      }));
      expect((await send('POST', '/batch', { defaults: { method: 'PUT' }, requests })).status).toBe(200);
    }
    const indexes = [{ fields: ['n'] }, ...(hasSearch ? [{ text: ['title'] }] : [])];
    expect((await send('PATCH', collection, { data: { indexes } })).status).toBe(200);
    for (let kills = 0; kills < 3; kills++) {
      const before = await report();
      // Writes during the build are in the index.
      expect((await send('PUT', `${collection}/records/r${kills}`, { data: { n: -1, title: 'new' } })).status).toBe(
        200,
      );
      expect(await total('n=-1')).toBe(kills + 1);
      if (hasSearch) expect(await total('_q=new')).toBe(kills + 1);
      await server.kill();
      server = await ServerProcess.start(workspace, environment);
      expect((await report()).done).toBeGreaterThanOrEqual(before.done);
    }
    await expect.poll(async () => (await report()).state, { timeout: 60_000 }).toBe('ready');
    for (let n = 0; n < values; n++) {
      expect(await total(`n=${n}`)).toBe(count / values - (n < 3 ? 1 : 0));
      if (hasSearch) expect(await total(`_q=digit${n}`)).toBe(count / values - (n < 3 ? 1 : 0));
    }
    if (hasSearch) {
      const searched = await send('GET', `${collection}/records?_q=digit5&_limit=1&_explain=true`);
      expect(searched.headers.get('query-plan')).toMatch(/^index=text\(title\); objects=300;/);
    }
    const explained = await send('GET', `${collection}/records?n=5&_limit=1&_explain=true`);
    expect(explained.headers.get('query-plan')).toMatch(/^index=n; objects=2;/);
    expect(await total('n=-1')).toBe(3);
  });
});
