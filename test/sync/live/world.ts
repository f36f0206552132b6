// Servers that share a database, writers that change lists on them, and everything that goes wrong meanwhile.
import { Redis } from 'ioredis';
import { settingsOf } from '../../../src/backends/load-settings.ts';
import { purgeDeleted } from '../../../src/maintenance/deletions.ts';
import { authorizationOf } from '../../../src/testing/index.ts';
import { requireRedisUrl } from '../../support/redis.ts';
import { cloneDatabase } from '../../support/postgresql.ts';
import { runSql } from '../../support/postgresql-setup.ts';
import { ServerProcess, Workspace, type Backend } from '../../support/server-process.ts';
import { Ledger, type Entry } from './ledger.ts';

export const collections = ['c0', 'c1'] as const;
export const listOf = (collection: string): string => `/buckets/b/collections/${collection}/records`;
const group = '/buckets/b/groups/readers';
const statuses = ['open', 'closed', 'late'];

/** Numbers that look random, the same for the same seed. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }

  /** Returns a whole number below the bound. */
  below(bound: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % bound;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }
}

interface Sent {
  readonly status: number;
  readonly body: any;
}

export class World {
  readonly backend: Backend;
  readonly ledgers = new Map(collections.map((name) => [listOf(name), new Ledger()]));
  readonly dice: Dice;
  readonly servers: ServerProcess[] = [];
  /** Counts events, to order what happened. */
  events = 0;
  writes = 0;
  /** Ids that were ever shared with `carol`. */
  readonly shared = new Set<string>();
  /** Event at which `bob` lost access, until he has it again. */
  revokedAt: number | undefined;
  readonly #workspace: Workspace;
  readonly #environment: Record<string, string>;
  readonly #database: Awaited<ReturnType<typeof cloneDatabase>> | undefined;
  readonly #ids = new Map<string, string>();
  #n = 0;

  private constructor(
    backend: Backend,
    workspace: Workspace,
    environment: Record<string, string>,
    database: Awaited<ReturnType<typeof cloneDatabase>> | undefined,
    seed: number,
  ) {
    this.backend = backend;
    this.#workspace = workspace;
    this.#environment = environment;
    this.#database = database;
    this.dice = new Dice(seed);
  }

  static async start(backend: Backend, seed: number): Promise<World> {
    const workspace = await Workspace.create();
    const database = backend === 'postgresql' ? await cloneDatabase() : undefined;
    const environment = {
      ...workspace.environment(backend, database?.url),
      SVC_INCLUDES: 'flush',
      SVC_LIVE_RECHECK_SECONDS: '0.5',
      SVC_LIVE_MAX_SECONDS: '4',
      SVC_LIVE_BUFFER_BYTES: '4096',
      SVC_LIVE_MAX_STREAMS_PER_USER: '1000',
      // The tests load the machine more than the servers allow by default.
      SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
    };
    const world = new World(backend, workspace, environment, database, seed);
    const isShared = backend === 'postgresql' || backend === 'redis';
    for (let n = 0; n < (isShared ? 2 : 1); n++) await world.#startServer(n);
    await world.create();
    return world;
  }

  /** Whether data survives the end of the process. */
  get isDurable(): boolean {
    return this.backend !== 'memory';
  }

  /** Returns the root of a server. */
  server(): string {
    return this.servers[this.dice.below(this.servers.length)]!.url;
  }

  /** Creates everything that followers need. */
  async create(): Promise<void> {
    for (const user of ['bob', 'carol']) {
      const { body } = await this.must('GET', '/', undefined, user);
      this.#ids.set(user, body.user.id);
    }
    await this.must('PUT', '/buckets/b');
    await this.must('PUT', group, { data: { members: this.revokedAt === undefined ? [this.#ids.get('bob')] : [] } });
    for (const name of collections) await this.createCollection(name);
  }

  async createCollection(name: string): Promise<void> {
    await this.must('PUT', `/buckets/b/collections/${name}`, { permissions: { read: [group] } });
  }

  async deleteCollection(name: string): Promise<void> {
    await this.must('DELETE', `/buckets/b/collections/${name}`);
    this.ledgers.get(listOf(name))!.clear();
  }

  /** Deletes everything, and creates it again when `noticed` resolves. */
  async flush(noticed: () => Promise<unknown>): Promise<void> {
    await this.must('POST', '/__flush__');
    for (const ledger of this.ledgers.values()) ledger.clear();
    await noticed();
    await this.create();
  }

  async setAccess(mayRead: boolean): Promise<void> {
    if (mayRead) this.revokedAt = undefined;
    await this.must('PUT', group, { data: { members: mayRead ? [this.#ids.get('bob')] : [] } });
    this.events += 1;
    if (!mayRead) this.revokedAt = this.events;
  }

  /** Ends a server as asked or as a power cut does, and starts another. */
  async restart(how: 'stop' | 'kill'): Promise<void> {
    const n = this.dice.below(this.servers.length);
    await this.servers[n]![how]();
    await this.#startServer(n);
  }

  /** Cuts the connections on which servers learn of changes in other processes. */
  async dropHints(): Promise<void> {
    if (this.backend === 'postgresql') {
      await runSql(
        this.#database!.url,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'LISTEN%'`,
      );
    } else if (this.backend === 'redis') {
      const redis = new Redis(requireRedisUrl());
      await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      redis.disconnect();
    }
  }

  /** Deletes all tombstones, a few times: followers that have missed one have to fetch their lists again. */
  async purge(): Promise<void> {
    const named = Object.entries(this.#environment).map(([name, value]) => [
      name.slice('SVC_'.length).toLowerCase(),
      value,
    ]);
    const settings = settingsOf(Object.fromEntries(named) as Record<string, string>);
    for (let n = 0; n < 4; n++) await purgeDeleted(settings, { kinds: ['record'], maxRetained: 0 });
  }

  /** Makes one change, or several in one transaction, and enters them into the ledger. */
  async write(writer: number): Promise<void> {
    const list = listOf(this.dice.pick(collections));
    const ledger = this.ledgers.get(list)!;
    const id = (): string => `w${writer}-${this.dice.below(6)}`;
    this.events += 1;
    const startedAt = this.events;
    const before = ledger.size;
    const kind = this.dice.below(10);
    let sent: Sent | undefined;
    if (kind < 5) sent = await this.send('PUT', `${list}/${id()}`, { data: this.#data() });
    else if (kind < 6) sent = await this.send('PATCH', `${list}/${id()}`, { data: this.#data() });
    else if (kind < 8) sent = await this.send('DELETE', `${list}/${id()}`);
    else if (kind < 9) sent = await this.#share(list, `s${writer}-${this.dice.below(3)}`);
    else sent = await this.#writeBatch(list, writer);
    if (sent === undefined) {
      await this.#recover(list, writer, startedAt);
      return;
    }
    this.#note(ledger, sent, startedAt);
    this.writes += ledger.size - before;
  }

  async close(): Promise<void> {
    for (const server of this.servers) await server.kill();
    await this.#database?.drop();
    await this.#workspace.remove();
  }

  /** Sends a request that succeeds. */
  async must(method: string, path: string, body?: object, user = 'alice'): Promise<Sent> {
    for (;;) {
      const sent = await this.send(method, path, body, user);
      if (sent === undefined) continue;
      if (sent.status >= 300) throw new Error(`${method} ${path}: ${sent.status} ${JSON.stringify(sent.body)}`);
      return sent;
    }
  }

  /** Sends a request; `undefined` when the response was lost. */
  async send(method: string, path: string, body?: object, user = 'alice'): Promise<Sent | undefined> {
    try {
      const response = await fetch(this.server() + path, {
        method,
        headers: {
          authorization: authorizationOf(user),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(20_000),
      });
      return { status: response.status, body: await response.json() };
    } catch {
      return undefined;
    }
  }

  async #startServer(n: number): Promise<void> {
    this.servers[n] = await ServerProcess.start(this.#workspace, this.#environment);
  }

  #data(): object {
    this.#n += 1;
    return { n: this.#n, status: this.dice.pick(statuses), text: 'x'.repeat(this.dice.below(600)) };
  }

  async #share(list: string, id: string): Promise<Sent | undefined> {
    this.shared.add(id);
    const read = this.dice.below(3) === 0 ? [] : [this.#ids.get('carol')];
    return this.send('PUT', `${list}/${id}`, { data: this.#data(), permissions: { read } });
  }

  #writeBatch(list: string, writer: number): Promise<Sent | undefined> {
    const requests = [0, 2, 4].map((first) => {
      const path = `${list}/w${writer}-${first + this.dice.below(2)}`;
      return this.dice.below(4) === 0
        ? { method: 'DELETE', path }
        : { method: 'PUT', path, body: { data: this.#data() } };
    });
    return this.send('POST', '/batch', { requests });
  }

  #note(ledger: Ledger, { status, body }: Sent, startedAt: number): void {
    if (body?.responses !== undefined) {
      for (const each of body.responses as Sent[]) this.#note(ledger, each, startedAt);
    } else if (status < 300) {
      const { id, last_modified, deleted, n, status: state } = body.data;
      ledger.add({ id, last_modified, n, status: state, ...(deleted === true ? { deleted } : {}) }, startedAt);
    } else if (status !== 404) {
      throw new Error(`a write was refused: ${status} ${JSON.stringify(body)}`);
    }
  }

  /** Finds out what became of a request whose response was lost. */
  async #recover(list: string, writer: number, startedAt: number): Promise<void> {
    const ledger = this.ledgers.get(list)!;
    const { body } = await this.must('GET', `${list}?_since=1`);
    for (const entry of body.data as Entry[]) {
      if (!new RegExp(`^[ws]${writer}-`).test(entry.id)) continue;
      const { id, last_modified, deleted, n, status } = entry;
      ledger.add({ id, last_modified, n, status, ...(deleted === true ? { deleted } : {}) } as Entry, startedAt);
    }
  }
}
