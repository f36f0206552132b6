// What was acknowledged is there after the process is killed: writers keep a ledger of every
// answer, the server dies at random moments, and each restart must show the ledger's state. Batches are all or nothing.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { cloneDatabase } from '../support/postgresql.ts';
import { ServerProcess, Workspace, type Backend } from '../support/server-process.ts';
import { inExtent, sized } from '../support/extent.ts';

const rounds = sized('COFFER_KILL_ROUNDS', 6, 50);
/** The service is killed on each; where the database lives on, there is less to be found. */
const allSetups: readonly { readonly backend: Backend; readonly rounds: number }[] = [
  { backend: 'sqlite', rounds },
  { backend: 'postgresql', rounds: Math.ceil(rounds / 3) },
  { backend: 'redis', rounds: Math.ceil(rounds / 5) },
];
const setups = inExtent(allSetups.slice(0, 1), allSetups);
const writers = 12;

/** What the ledger knows of one object: the last acknowledged state, and one that may or may not have happened. */
interface Known {
  acknowledged: State | undefined;
  attempted: State | undefined;
  wasAttempted: boolean;
}

/** `undefined` in `value` stands for a deleted object. */
interface State {
  readonly value: number | undefined;
}

class Ledger {
  readonly objects = new Map<string, Known>();
  /** Ids created together by batches that were not answered. */
  readonly openBatches: string[][] = [];
  acknowledged = 0;

  attempt(id: string, state: State): void {
    const known = this.objects.get(id) ?? { acknowledged: undefined, attempted: undefined, wasAttempted: false };
    this.objects.set(id, { ...known, attempted: state, wasAttempted: true });
  }

  acknowledge(id: string): void {
    const known = this.objects.get(id)!;
    this.objects.set(id, { acknowledged: known.attempted, attempted: undefined, wasAttempted: false });
    this.acknowledged++;
  }
}

let workspace: Workspace;
beforeEach(async () => {
  workspace = await Workspace.create();
});
afterEach(() => workspace.remove());

test.each(setups)(
  'on $backend every acknowledged write survives $rounds kills of the server',
  { timeout: 60_000 + rounds * 4000 },
  async ({ backend, rounds: kills }) => {
    const database = backend === 'postgresql' ? await cloneDatabase() : undefined;
    const environment = workspace.environment(backend, database?.url);
    const ledgers: Ledger[] = [];
    let server = await ServerProcess.start(workspace, environment);
    await new Client(server.url, 'writer').request('PUT', '/buckets/ledger');
    for (let round = 0; round < kills; round++) {
      const ledger = new Ledger();
      ledgers.push(ledger);
      const client = new Client(server.url, 'writer');
      const records = await createCollection(client, round);
      const writing = Array.from({ length: writers }, (_, writer) => write(client, records, `w${writer}`, ledger));
      await untilAcknowledged(ledger, 20 + Math.floor(Math.random() * 150));
      await server.kill();
      await Promise.all(writing);
      server = await ServerProcess.start(workspace, environment);
      await compare(new Client(server.url, 'writer'), records, ledger);
    }
    const client = new Client(server.url, 'writer');
    for (const [round, ledger] of ledgers.entries()) await compare(client, recordsOf(round), ledger);
    const total = ledgers.reduce((sum, ledger) => sum + ledger.acknowledged, 0);
    console.log(`${backend}: ${kills} kills, ${total} acknowledged writes, none lost`);
    expect(await server.stop()).toBe(0);
  },
);

function recordsOf(round: number): string {
  return `/buckets/ledger/collections/round-${round}/records`;
}

async function createCollection(client: Client, round: number): Promise<string> {
  const records = recordsOf(round);
  const { status } = await client.request('PUT', records.slice(0, -'/records'.length));
  expect(status).toBe(201);
  return records;
}

/** Resolves once enough writes were answered, or all writers have ended. */
function untilAcknowledged(ledger: Ledger, count: number): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (ledger.acknowledged >= count) resolve();
      else setImmediate(look);
    };
    look();
  });
}

/** Writes until the server is gone. Each writer has ids of its own, so that the last answer tells the state. */
async function write(client: Client, records: string, writer: string, ledger: Ledger): Promise<void> {
  try {
    for (let n = 0; ; n++) {
      if (n % 5 === 4) await writeBatch(client, records, `${writer}-b${n}`, ledger);
      else await writeOne(client, records, `${writer}-${n % 3}`, n, ledger);
    }
  } catch {
    // The connection broke: the server was killed, and the result of the last request is unknown.
  }
}

async function writeOne(client: Client, records: string, id: string, value: number, ledger: Ledger): Promise<void> {
  const deletes = value % 7 === 6 && ledger.objects.get(id)?.acknowledged?.value !== undefined;
  ledger.attempt(id, { value: deletes ? undefined : value });
  const { status } = deletes
    ? await client.request('DELETE', `${records}/${id}`)
    : await client.request('PUT', `${records}/${id}`, { data: { value } });
  expect(status).toBeLessThan(300);
  ledger.acknowledge(id);
}

async function writeBatch(client: Client, records: string, prefix: string, ledger: Ledger): Promise<void> {
  const ids = [0, 1, 2, 3].map((n) => `${prefix}-${n}`);
  for (const id of ids) ledger.attempt(id, { value: 1 });
  ledger.openBatches.push(ids);
  const requests = ids.map((id) => ({ method: 'PUT', path: `${records}/${id}`, body: { data: { value: 1 } } }));
  const { status, body } = await client.request('POST', '/batch', { requests });
  expect(status).toBe(200);
  expect(body.responses.map((response: { status: number }) => response.status)).toEqual([201, 201, 201, 201]);
  for (const id of ids) ledger.acknowledge(id);
  ledger.openBatches.splice(ledger.openBatches.indexOf(ids), 1);
}

async function compare(client: Client, records: string, ledger: Ledger): Promise<void> {
  const stored = new Map((await client.readAll(records)).map((record) => [record.id, record]));
  for (const [id, { acknowledged, attempted, wasAttempted }] of ledger.objects) {
    const found = stored.get(id)?.value;
    const possible = [acknowledged?.value, ...(wasAttempted ? [attempted?.value] : [])];
    expect(possible, `${records}/${id}`).toContain(found);
  }
  for (const id of stored.keys()) expect(ledger.objects.has(id), `${records}/${id} was never written`).toBe(true);
  for (const ids of ledger.openBatches) {
    const there = ids.filter((id) => stored.has(id)).length;
    expect([0, ids.length], `${records}: part of the batch of ${ids[0]}`).toContain(there);
  }
  await compareOwner(client, records, stored.keys().next().value);
}

/** The permissions of an object are written with it. */
async function compareOwner(client: Client, records: string, id: string | undefined): Promise<void> {
  if (id === undefined) return;
  const { body } = await client.request('GET', `${records}/${id}`);
  expect(body.permissions.write).toHaveLength(1);
}
