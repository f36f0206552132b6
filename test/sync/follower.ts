// A client that follows a list by the documented loop, and clients that change it meanwhile.
import { expect } from 'vitest';
import type { Client } from '../support/client.ts';
import { inExtent } from '../support/extent.ts';

/** A copy of the list as a client keeps it, brought up to date by nothing but the documented loop. */
export class Follower {
  readonly copy = new Map<string, { last_modified: number; n: number }>();
  readonly #client: Client;
  readonly #records: string;
  readonly #limit: string;
  #etag: string | undefined;
  polls = 0;
  /** Number of responses with `Resync`. */
  resyncs = 0;

  constructor(client: Client, records: string, pageSize: number | undefined) {
    this.#client = client;
    this.#records = records;
    this.#limit = pageSize === undefined ? '' : `&_limit=${pageSize}`;
  }

  /**
   * Asks for what changed since the last poll, page by page; the next poll starts from the first page's `ETag`. Told that it
   * has missed deletions, it starts anew.
   */
  async poll(): Promise<void> {
    const since = this.#etag === undefined ? '0' : encodeURIComponent(this.#etag);
    let etag: string | null = null;
    for (let next: string | null = `${this.#records}?_since=${since}${this.#limit}`; next !== null;) {
      const { status, headers, body } = await this.#client.request('GET', next);
      expect(status).toBe(200);
      if (headers.has('resync')) return this.#startAnew(headers.get('resync')!);
      etag ??= headers.get('etag');
      for (const entry of body.data) this.#apply(entry);
      next = headers.get('next-page');
    }
    const before = this.#etag === undefined ? 0 : timestampOf(this.#etag);
    expect(timestampOf(etag!)).toBeGreaterThanOrEqual(before);
    this.#etag = etag!;
    this.polls++;
  }

  async #startAnew(horizon: string): Promise<void> {
    expect(timestampOf(horizon)).toBeGreaterThan(timestampOf(this.#etag!));
    this.resyncs++;
    this.#etag = undefined;
    this.copy.clear();
    await this.poll();
  }

  #apply(entry: { id: string; last_modified: number; deleted?: boolean; n: number }): void {
    const known = this.copy.get(entry.id);
    if (known !== undefined && known.last_modified > entry.last_modified) return;
    if (entry.deleted) this.copy.delete(entry.id);
    else this.copy.set(entry.id, { last_modified: entry.last_modified, n: entry.n });
  }
}

/** The number in an entity tag. */
export function timestampOf(etag: string): number {
  return Number(etag.replaceAll('"', ''));
}

/** Told about each change that was answered, in the order of the answers. */
export type Note = (status: number, timestamp?: number) => void;

const changesPerWriter = inExtent(20, 40);

/** Creates, replaces, patches, deletes, alone and in batches. */
export async function change(client: Client, records: string, writer: number, note: Note): Promise<void> {
  for (let n = 0; n < changesPerWriter; n++) {
    if (n % 4 === 3) {
      const requests = [0, 1, 2, 3, 4].map((k) => ({
        method: 'PUT',
        path: `${records}/w${writer}-${(n + k) % 10}`,
        body: { data: { n } },
      }));
      const { status, body } = await client.request('POST', '/batch', { requests });
      expect(status).toBe(200);
      for (const response of body.responses) note(response.status, response.body.data.last_modified);
    } else if (n % 10 === 9) {
      const { status, body } = await client.request('DELETE', `${records}/w${writer}-${(n - 1) % 10}`);
      note(status === 404 ? 200 : status, status === 404 ? undefined : body.data.last_modified);
    } else {
      const { status, body } = await client.request('PUT', `${records}/w${writer}-${n % 10}`, { data: { n } });
      note(status, body.data.last_modified);
    }
  }
}
