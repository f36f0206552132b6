// Clients that constantly write and read, whatever happens to the backend, and a ledger of their responses. The ledger
// determines what may be stored afterwards: for each object the last acknowledged state, or one attempted since.
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { Client, type Answer } from '../support/client.ts';

const bucket = '/buckets/ledger';
const near = `${bucket}/collections/near/records`;
const far = `${bucket}/collections/far/records`;
const groups = `${bucket}/groups`;

/** How long clients wait after a refusal; much less than they are asked to. */
const pauseMs = 20;
const idsPerWriter = 3;

export interface TrafficOptions {
  /** Root of the protocol. */
  readonly url: string;
  /** Tells the ids of this traffic from those of others. */
  readonly name: string;
  readonly writers: number;
  readonly readers: number;
  /** The longest that any answer may take. */
  readonly limitMs: number;
}

/** Puts what the clients write to in its place. */
export async function prepare(url: string): Promise<void> {
  const client = new Client(url, 'writer');
  for (const path of [bucket, near, far].map((each) => each.replace('/records', ''))) {
    expect((await client.request('PUT', path)).status).toBe(201);
  }
}

export class Traffic {
  /** Answers with 2xx to writes, batches counted as one. */
  acknowledged = 0;
  /** Answers with 503 to writes, and to reads. */
  readonly refused = { writes: 0, reads: 0 };
  /** Everything that must not happen, in words. */
  readonly offences: string[] = [];
  /** Messages of refusals. */
  readonly messages = new Set<string>();
  longestMs = 0;
  readonly #options: TrafficOptions;
  readonly #client: Client;
  /** Id → values that may be stored. */
  readonly #objects = new Map<string, Set<number | undefined>>();
  readonly #batches = { acknowledged: [] as string[], open: [] as string[] };
  readonly #watchers = new Set<() => void>();
  readonly #running: Promise<unknown>;
  #isOn = true;

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.#client = new Client(options.url, 'writer');
    this.#running = Promise.all([
      ...Array.from({ length: options.writers }, (_, n) => this.#write(`${options.name}-w${n}`)),
      ...Array.from({ length: options.readers }, () => this.#read()),
    ]);
  }

  /** Resolves once the condition holds, which is asked after every answer. */
  until(condition: (traffic: this) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!condition(this)) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
    });
  }

  /** Ends when all clients have their last answers. */
  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#running;
  }

  async #write(writer: string): Promise<void> {
    for (let n = 1; this.#isOn; n++) {
      if (n % 4 === 0) await this.#writeBatch(`${writer}-b${n}`);
      else await this.#writeOne(`${writer}-${n % idsPerWriter}`, n);
    }
  }

  async #writeOne(id: string, value: number): Promise<void> {
    const possible = this.#objects.get(id) ?? new Set([undefined]);
    this.#objects.set(id, possible);
    const deletes = value % 7 === 6 && !possible.has(undefined);
    const next = deletes ? undefined : value;
    possible.add(next);
    const answer = deletes
      ? await this.#ask('DELETE', `${near}/${id}`)
      : await this.#ask('PUT', `${near}/${id}`, { data: { value } });
    if (!this.#isAcknowledged(answer)) return;
    this.#objects.set(id, new Set([next]));
    if (value % 5 === 0) await this.#readOwn(id, next);
  }

  /** What was acknowledged is seen from then on. */
  async #readOwn(id: string, value: number | undefined): Promise<void> {
    const answer = await this.#ask('GET', `${near}?id=${id}`);
    if (answer?.status !== 200) return;
    if (answer.body.data[0]?.value !== value)
      this.#offend(`${id} is ${value}, but reads ${JSON.stringify(answer.body)}`);
  }

  async #writeBatch(id: string): Promise<void> {
    this.#batches.open.push(id);
    const permissions = { read: [`reader-${id}`] };
    const requests = [
      { path: `${near}/${id}`, body: { data: { batch: id }, permissions } },
      { path: `${far}/${id}`, body: { data: { batch: id }, permissions } },
      { path: `${groups}/${id}`, body: { data: { members: [`member-${id}`] }, permissions } },
    ];
    const answer = await this.#ask('POST', '/batch', { defaults: { method: 'PUT' }, requests });
    if (!this.#isAcknowledged(answer)) return;
    const statuses = answer!.body.responses.map(({ status }: { status: number }) => status);
    if (statuses.join() !== '201,201,201') this.#offend(`batch ${id} answered ${statuses.join()}`);
    this.#batches.open.splice(this.#batches.open.indexOf(id), 1);
    this.#batches.acknowledged.push(id);
  }

  async #read(): Promise<void> {
    for (let n = 0; this.#isOn; n++) {
      const path = [`${near}?_limit=5`, '/', `${near}?value=3`, bucket][n % 4]!;
      await this.#ask('GET', path);
    }
  }

  #isAcknowledged(answer: Answer | undefined): boolean {
    if (answer === undefined || answer.status >= 300) return false;
    this.acknowledged++;
    this.#tell();
    return true;
  }

  /** The answer; `undefined` when there was none at all, which is noted. */
  async #ask(method: string, path: string, body?: unknown): Promise<Answer | undefined> {
    const started = performance.now();
    let answer: Answer | undefined;
    try {
      answer = await this.#client.request(method, path, body);
    } catch (error) {
      this.#offend(`${method} ${path} was not answered: ${String(error)}`);
    }
    this.#judge(`${method} ${path}`, answer, performance.now() - started);
    if (answer?.status === 503) {
      this.refused[method === 'GET' ? 'reads' : 'writes']++;
      this.#tell();
      await pause(pauseMs);
    }
    return answer;
  }

  #judge(request: string, answer: Answer | undefined, milliseconds: number): void {
    this.longestMs = Math.max(this.longestMs, milliseconds);
    if (milliseconds > this.#options.limitMs) this.#offend(`${request} took ${Math.round(milliseconds)} ms`);
    if (answer === undefined || answer.status < 300) return;
    const { status, headers, body } = answer;
    const isStandard =
      status === 503 &&
      /^\d+$/.test(headers.get('retry-after') ?? '') &&
      body.code === 503 &&
      body.errno === 201 &&
      body.error === 'Service Unavailable' &&
      typeof body.message === 'string';
    if (!isStandard) this.#offend(`${request} answered ${status} ${JSON.stringify(body)}`);
    else this.messages.add(body.message);
  }

  #offend(text: string): void {
    this.offences.push(text);
    this.#tell();
  }

  #tell(): void {
    for (const look of this.#watchers) look();
  }

  /** Compares what is stored with the ledger: all that was acknowledged is there, and nothing is half done. */
  async compare(): Promise<void> {
    const { name } = this.#options;
    const idsOf = async (path: string): Promise<Map<string, any>> =>
      new Map((await this.#client.readAll(path)).filter(({ id }) => id.startsWith(`${name}-`)).map((o) => [o.id, o]));
    const [inNear, inFar, inGroups] = [await idsOf(near), await idsOf(far), await idsOf(groups)];
    for (const [id, possible] of this.#objects) {
      expect([...possible], id).toContain(inNear.get(id)?.value);
    }
    for (const id of this.#batches.acknowledged) {
      expect([inNear.has(id), inFar.has(id), inGroups.has(id)], `acknowledged batch ${id}`).toEqual([true, true, true]);
    }
    for (const id of this.#batches.open) {
      const there = [inNear.has(id), inFar.has(id), inGroups.has(id)];
      expect(new Set(there).size, `part of the batch ${id}: ${there.join()}`).toBe(1);
    }
    const stored = [...inNear.keys()].filter((id) => !this.#objects.has(id));
    const known = new Set([...this.#batches.acknowledged, ...this.#batches.open]);
    for (const id of stored) expect(known.has(id), `${id} was never written`).toBe(true);
    const suspects = [...this.#batches.open.filter((id) => inNear.has(id)), ...this.#batches.acknowledged.slice(-5)];
    for (const id of suspects) await this.#comparePermissions(id);
  }

  /** The permissions of an object are written with it. */
  async #comparePermissions(id: string): Promise<void> {
    for (const list of [near, far, groups]) {
      const { status, body } = await this.#client.request('GET', `${list}/${id}`);
      expect([status, body.permissions?.read], `${list}/${id}`).toEqual([200, [`reader-${id}`]]);
    }
  }
}
