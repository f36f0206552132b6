// Walking through the pages of a list while others write to it, and changing what was read before: what was there all the
// time is seen exactly once in any order, and no change is lost.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { cloneDatabase } from '../support/postgresql.ts';
import { backends, ServerProcess, Workspace } from '../support/server-process.ts';
import { inExtent } from '../support/extent.ts';

const records = '/buckets/b/collections/list/records';
const sorts = [
  '',
  '_sort=id',
  '_sort=-id',
  '_sort=last_modified',
  '_sort=-last_modified',
  '_sort=n',
  '_sort=-n,id',
  '_sort=text,-n',
  '_sort=absent',
];
const pageSizes = [7, 30];
const lasting = 40;
const writers = 4;

describe.each(inExtent(['sqlite'], backends))('on %s', (backend) => {
  let workspace: Workspace;
  let server: ServerProcess;
  let client: Client;
  let dropDatabase = async (): Promise<void> => {};

  beforeAll(async () => {
    workspace = await Workspace.create();
    const database = backend === 'postgresql' ? await cloneDatabase() : undefined;
    dropDatabase = database?.drop ?? dropDatabase;
    server = await ServerProcess.start(workspace, workspace.environment(backend, database?.url));
    client = new Client(server.url, 'writer');
    await client.request('PUT', '/buckets/b');
    await client.request('PUT', '/buckets/b/collections/list');
  });
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
    await dropDatabase();
    await workspace.remove();
  });

  test(
    'unchanged objects are on exactly one page, whatever is written between the pages',
    { timeout: 120_000 },
    async () => {
      const ids = Array.from({ length: lasting }, (_, n) => `lasting-${n}`);
      await inBatches(ids, (id, n) => ({ method: 'PUT', path: `${records}/${id}`, body: { data: dataOf(n) } }));
      let isOver = false;
      const churn = Array.from({ length: writers }, async (_, writer) => {
        for (let n = 0; !isOver; n++) await change(writer, n);
      });
      try {
        for (const sort of sorts) {
          for (const size of pageSizes) {
            const seen = (await client.readAll(`${records}?_limit=${size}&${sort}`)).map(({ id }) => id as string);
            const untouched = seen.filter((id) => id.startsWith('lasting-'));
            expect(untouched.toSorted(), `${sort}, pages of ${size}`).toEqual(ids.toSorted());
          }
        }
      } finally {
        isOver = true;
        await Promise.all(churn);
      }
    },
  );

  test('of clients that change what they have read none loses the change of another', { timeout: 60_000 }, async () => {
    const path = `${records}/counter`;
    await client.request('PUT', path, { data: { n: 0 } });
    let done = 0;
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        for (let n = 0; n < 15; n++) {
          const { body, headers } = await client.request('GET', path);
          const { status } = await client.request(
            'PUT',
            path,
            { data: { n: body.data.n + 1 } },
            { 'if-match': headers.get('etag')! },
          );
          expect([200, 412]).toContain(status);
          if (status === 200) done++;
        }
      }),
    );
    expect(done).toBeGreaterThan(14);
    expect((await client.request('GET', path)).body.data.n).toBe(done);
  });

  test('a creation that is sent again, because its answer was lost, happens once', async () => {
    const path = `${records}/once`;
    const create = { data: { n: 1 } };
    const first = await client.request('PUT', path, create, { 'if-none-match': '*' });
    const again = await client.request('PUT', path, create, { 'if-none-match': '*' });
    expect([first.status, again.status]).toEqual([201, 412]);
    expect(again.body.details.existing).toEqual(first.body.data);
    const posted = await client.request('POST', records, { data: { id: 'once', n: 1 } });
    expect([posted.status, posted.body.data]).toEqual([200, first.body.data]);
  });

  /** Creates, changes or deletes one of the records that do not last, with values between those of the others. */
  async function change(writer: number, n: number): Promise<void> {
    const path = `${records}/passing-${writer}-${n % 5}`;
    const { status } =
      n % 3 === 2
        ? await client.request('DELETE', path)
        : await client.request('PUT', path, { data: dataOf((n * 7 + writer) % lasting) });
    expect([200, 201, 404]).toContain(status);
  }

  async function inBatches(ids: readonly string[], request: (id: string, n: number) => object): Promise<void> {
    for (let start = 0; start < ids.length; start += 20) {
      const requests = ids.slice(start, start + 20).map((id, n) => request(id, start + n));
      const { body } = await client.request('POST', '/batch', { requests });
      expect(body.responses.map(({ status }: { status: number }) => status)).toEqual(requests.map(() => 201));
    }
  }
});

/** Values of which many are alike, so that pages end in the middle of them. */
function dataOf(n: number): object {
  return { n: n % 11, text: `t${n % 4}` };
}
