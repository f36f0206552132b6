// A server that is killed while it builds indexes continues the build, and its queries stay right. Unique indexes stay unique
// when it is killed during builds and writes.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backends, ServerProcess, Workspace } from '../support/server-process.ts';
import { inExtent, sized } from '../support/extent.ts';
import { borrowDatabase } from '../support/postgresql.ts';

const collection = '/buckets/b/collections/c';
const headers = {
  'Content-Type': 'application/json',
  Authorization: `Basic ${Buffer.from('alice:secret').toString('base64')}`,
};
const count = 3000;
const values = 10;
const killsOfBuild = inExtent(1, 3);
/** Kills during builds of a unique index and concurrent writes. */
const kills = sized('COFFER_INDEX_KILLS', 1, 8);
const writers = 8;
/** Number of values that the writers contend for. */
const contended = 40;
/** Answers after which a round ends although no write was refused. */
const mostAnswers = 1000;
/** Severity of logged warnings; that of errors is lower. */
const warning = 4;

interface IndexReport {
  readonly state: string;
  readonly done: number;
}

/** The service is killed on each; where the database lives on, there is less to be found. */
const durable = inExtent(
  ['sqlite'] as const,
  backends.filter((backend) => backend !== 'memory'),
);

describe.each(durable)('a killed build on %s', (backend) => {
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
    for (let round = 0; round < killsOfBuild; round++) {
      const before = await report();
      // Writes during the build are in the index.
      expect((await send('PUT', `${collection}/records/r${round}`, { data: { n: -1, title: 'new' } })).status).toBe(
        200,
      );
      expect(await total('n=-1')).toBe(round + 1);
      if (hasSearch) expect(await total('_q=new')).toBe(round + 1);
      await server.kill();
      server = await ServerProcess.start(workspace, environment);
      expect((await report()).done).toBeGreaterThanOrEqual(before.done);
    }
    await expect.poll(async () => (await report()).state, { timeout: 60_000 }).toBe('ready');
    for (let n = 0; n < values; n++) {
      expect(await total(`n=${n}`)).toBe(count / values - (n < killsOfBuild ? 1 : 0));
      if (hasSearch) expect(await total(`_q=digit${n}`)).toBe(count / values - (n < killsOfBuild ? 1 : 0));
    }
    if (hasSearch) {
      const searched = await send('GET', `${collection}/records?_q=digit5&_limit=1&_explain=true`);
      expect(searched.headers.get('query-plan')).toMatch(/^index=text\(title\); objects=300;/);
    }
    const explained = await send('GET', `${collection}/records?n=5&_limit=1&_explain=true`);
    expect(explained.headers.get('query-plan')).toMatch(/^index=n; objects=2;/);
    expect(await total('n=-1')).toBe(killsOfBuild);
  });

  it('leaves unique values unique, and no written record out', { timeout: 60_000 + kills * 30_000 }, async () => {
    await send('PUT', '/buckets/b');
    await send('PUT', collection);
    await fillUnique();
    /** Values of records whose last write was acknowledged, and ids of those that a kill left without an answer. */
    const written = new Map<string, string>();
    const uncertain = new Set<string>();
    let [acknowledged, refused] = [0, 0];
    unavailable.clear();
    for (let round = 0; round < kills; round++) {
      // Each round removes the declaration and builds the index again.
      await declare([]);
      await declare([{ fields: ['email'], unique: true }, { fields: ['-n', 'email'] }]);
      let answers = 0;
      let resolveEnough: () => void = () => undefined;
      const enough = new Promise<void>((resolve) => {
        resolveEnough = resolve;
      });
      const write = async (writer: number): Promise<void> => {
        for (let n = 0; ; n++) {
          // Each third request gives a value back, so that later ones contend for it.
          const isDeletion = n % 3 === 2;
          const id = `w${round}-${writer}-${isDeletion ? n - 1 : n}`;
          const email = `${round}-contended-${(n * 7 + writer) % contended}`;
          const body = isDeletion ? undefined : { data: { email, n } };
          const status = await statusOf(isDeletion ? 'DELETE' : 'PUT', `${collection}/records/${id}`, body);
          // A database without a processor makes the service answer 503, and then it is not known either.
          if (status === undefined || status === 503) {
            written.delete(id);
            uncertain.add(id);
          }
          if (status === undefined) return;
          expect([200, 201, 404, 409, 503], reasons()).toContain(status);
          if (status === 409) refused++;
          if (status === 201) written.set(id, email);
          if (status === 200) written.delete(id);
          if (status < 300) acknowledged++;
          answers++;
          // On a busy machine the first writers may have given their values back before the others begin.
          if (answers >= (refused > 0 ? 40 + 60 * (round % 3) : mostAnswers)) resolveEnough();
        }
      };
      const writing = Array.from({ length: writers }, (_, writer) => write(writer));
      await enough;
      await server.kill();
      await Promise.all(writing);
      server = await ServerProcess.start(workspace, environment);
      await expect.poll(async () => (await report()).state, { timeout: 60_000 }).toBe('ready');
      await compareUnique(written, uncertain, round);
    }
    expect(refused, reasons()).toBeGreaterThan(0);
    if (inExtent<boolean>(false, true))
      console.log(`${backend}: ${kills} kills, ${acknowledged} acknowledged writes, ${refused} refused`);
  });

  /** Returns the status of a response; `undefined` when the server was killed before. */
  const statusOf = async (method: string, path: string, body?: unknown): Promise<number | undefined> => {
    try {
      const response = await send(method, path, body);
      const text = await response.text();
      if (response.status === 503) note(text);
      return response.status;
    } catch {
      return undefined;
    }
  };
  const declare = async (indexes: readonly object[]): Promise<void> => {
    expect(await statusOf('PATCH', collection, { data: { indexes } }), reasons()).toBe(200);
  };

  /** Responses with 503, by their text and what the server logged last, and how often each came. */
  const unavailable = new Map<string, number>();
  const note = (text: string): void => {
    const logged = server.log.findLast(({ Severity }) => Severity <= warning);
    const reason = `${text} ${JSON.stringify(logged?.Fields ?? null).slice(0, 1000)}`;
    unavailable.set(reason, (unavailable.get(reason) ?? 0) + 1);
  };
  /** Returns a message for failures. */
  const reasons = (): string =>
    `responses with 503: ${[...unavailable].map(([reason, times]) => `${times} × ${reason}`).join('\n') || 'none'}`;

  /** Stores records with values of their own. */
  async function fillUnique(): Promise<void> {
    const requests = Array.from({ length: 1000 }, (_, n) => ({
      path: `${collection}/records/r${n}`,
      body: { data: { email: `own-${n}`, n: n % values } },
    }));
    expect((await send('POST', '/batch', { defaults: { method: 'PUT' }, requests })).status).toBe(200);
  }

  /** Requires values to be unique, acknowledged records to exist, and the index to find what a scan finds. */
  async function compareUnique(
    written: ReadonlyMap<string, string>,
    uncertain: ReadonlySet<string>,
    round: number,
  ): Promise<void> {
    const { data } = (await (await send('GET', `${collection}/records`)).json()) as {
      data: { id: string; email: string; n: number }[];
    };
    expect(new Set(data.map(({ email }) => email)).size).toBe(data.length);
    const emails = new Map(data.map(({ id, email }) => [id, email]));
    for (const [id, email] of written) expect([id, emails.get(id)]).toEqual([id, email]);
    const unexpected = [...emails.keys()].filter((id) => !id.startsWith('r') && !written.has(id) && !uncertain.has(id));
    expect(unexpected).toEqual([]);
    for (let n = 0; n < contended; n++) {
      const found = data.filter(({ email }) => email === `${round}-contended-${n}`).length;
      expect([n, await total(`email=${round}-contended-${n}`)]).toEqual([n, found]);
    }
    expect(await total('n=3')).toBe(data.filter(({ n }) => n === 3).length);
  }
});
