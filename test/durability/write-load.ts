// Writers that create records, one by one and in batches, and the ledger of what they were answered. Nothing is ever
// changed or deleted, so what a disk holds has to be all that was written up to some moment.
import { expect } from 'vitest';
import { Client, type Answer } from '../support/client.ts';

export const records = '/buckets/ledger/collections/list/records';
const batchSize = 4;

/** A record that was acknowledged. */
export interface Acknowledged {
  readonly id: string;
  readonly lastModified: number;
}

export class WriteLoad {
  readonly acknowledged: Acknowledged[] = [];
  /** Ids that were sent together, answered or not. */
  readonly batches: (readonly string[])[] = [];
  /** Answers other than success, which are refusals. */
  refused = 0;
  readonly #client: Client;
  readonly #writing: readonly Promise<void>[];
  readonly #padding: string;
  #isOver = false;

  /** @param paddingBytes size of each record without its id */
  constructor(
    url: string,
    { writers, paddingBytes = 50 }: { readonly writers: number; readonly paddingBytes?: number },
  ) {
    this.#client = new Client(url, 'writer');
    this.#padding = 'x'.repeat(paddingBytes);
    this.#writing = Array.from({ length: writers }, (_, writer) => this.#write(`${Date.now()}-w${writer}`));
  }

  /** Creates what the writers write to. */
  static async prepare(url: string): Promise<void> {
    const client = new Client(url, 'writer');
    await client.request('PUT', '/buckets/ledger');
    await client.request('PUT', records.slice(0, -'/records'.length));
  }

  /** Resolves when so many more were acknowledged. */
  async more(count: number): Promise<void> {
    const wanted = this.acknowledged.length + count;
    await this.until(() => this.acknowledged.length >= wanted);
  }

  async until(isReached: () => boolean): Promise<void> {
    while (!isReached()) await new Promise(setImmediate);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#writing);
  }

  async #write(name: string): Promise<void> {
    try {
      for (let n = 0; !this.#isOver; n++)
        await (n % 4 === 3 ? this.#writeBatch(`${name}-${n}`) : this.#writeOne(`${name}-${n}`));
    } catch (error) {
      // The server is gone, which is what some tests are about.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  async #writeOne(id: string): Promise<void> {
    const answer = await this.#client.request('PUT', `${records}/${id}`, { data: { text: this.#padding } });
    this.#note([id], [answer]);
  }

  async #writeBatch(prefix: string): Promise<void> {
    const ids = Array.from({ length: batchSize }, (_, n) => `${prefix}-b${n}`);
    this.batches.push(ids);
    const requests = ids.map((id) => ({
      method: 'PUT',
      path: `${records}/${id}`,
      body: { data: { text: this.#padding } },
    }));
    const answer = await this.#client.request('POST', '/batch', { requests });
    this.#note(ids, answer.status === 200 ? answer.body.responses : [answer]);
  }

  #note(ids: readonly string[], answers: readonly Pick<Answer, 'status' | 'body'>[]): void {
    if (answers.every(({ status }) => status === 201)) {
      for (const [n, id] of ids.entries())
        this.acknowledged.push({ id, lastModified: answers[n]!.body.data.last_modified });
      return;
    }
    expect(answers.map(({ status }) => status)).toEqual([503]);
    this.refused++;
  }
}

/** What is stored: id → timestamp. */
export type Stored = ReadonlyMap<string, number>;

/** Reads everything over HTTP. */
export async function readStored(url: string): Promise<Stored> {
  const all = await new Client(url, 'writer').readAll(records);
  return new Map(all.map(({ id, last_modified: lastModified }) => [id, lastModified]));
}

/** Whether all that was acknowledged is there, with its timestamps, and batches are there as a whole or not at all. */
export function expectComplete(stored: Stored, acknowledged: readonly Acknowledged[], load: WriteLoad): void {
  const lost = acknowledged.filter(({ id, lastModified }) => stored.get(id) !== lastModified);
  expect(lost).toEqual([]);
  expectWholeBatches(stored, load);
}

/** Whether it is everything up to some moment: what is missing came after all that is there. */
export function expectPrefix(stored: Stored, load: WriteLoad): void {
  const newest = Math.max(0, ...stored.values());
  const missing = load.acknowledged.filter(({ id, lastModified }) => lastModified <= newest && !stored.has(id));
  expect(missing).toEqual([]);
  expectWholeBatches(stored, load);
}

function expectWholeBatches(stored: Stored, { batches }: WriteLoad): void {
  const partial = batches.filter((ids) => ![0, ids.length].includes(ids.filter((id) => stored.has(id)).length));
  expect(partial).toEqual([]);
}
