// A service with a list that streams follow, and helpers to write to it.
import { expect } from 'vitest';
import type { TestBackend, TestResponse, TestService, TestServiceOptions } from '../../src/testing/index.ts';
import { EventClient, type OpenOptions } from './event-client.ts';

export const records = '/v1/buckets/b/collections/c/records';

/** A bucket `b` with a collection `c`, owned by `alice`, on a running service. */
export class Stage {
  readonly service: TestService;
  readonly #clients: EventClient[] = [];

  constructor(service: TestService) {
    this.service = service;
  }

  /** @param permissions of the collection; by default everyone may read it */
  static async start(
    backend: TestBackend,
    options: TestServiceOptions = {},
    permissions: object = { read: ['system.Everyone'] },
  ): Promise<Stage> {
    const stage = new Stage(await backend.start(options));
    await stage.write('PUT', '/v1/buckets/b');
    await stage.write('PUT', '/v1/buckets/b/collections/c', { permissions });
    return stage;
  }

  /** Sends a request of `alice` that succeeds. */
  async write(method: string, path: string, body?: object, auth = 'alice'): Promise<TestResponse> {
    const response = await this.service.request(method, path, { auth, ...(body === undefined ? {} : { body }) });
    expect(response.status, `${method} ${path}: ${response.text}`).toBeLessThan(300);
    return response;
  }

  /** Stores a record. Returns its timestamp. */
  async put(id: string, data: object = {}): Promise<number> {
    return timestampOf(await this.write('PUT', `${records}/${id}`, { data }));
  }

  /** Deletes a record. Returns the timestamp of its tombstone. */
  async remove(id: string): Promise<number> {
    return timestampOf(await this.write('DELETE', `${records}/${id}`));
  }

  /** Returns the ETag of a list as a number. */
  async clock(path = records): Promise<number> {
    const { headers } = await this.write('HEAD', path);
    return Number(headers['etag']!.slice(1, -1));
  }

  /** Returns the principal of a user. */
  async idOf(auth: string): Promise<string> {
    const { body } = await this.service.request('GET', '/v1/', { auth });
    return (body as { user: { id: string } }).user.id;
  }

  /** Replaces the readers of the collection. */
  async setReaders(...read: readonly string[]): Promise<void> {
    await this.write('PATCH', '/v1/buckets/b/collections/c', { permissions: { read } });
  }

  /** Opens a stream of records, or of another path that starts with `/`. It is closed with the stage. */
  async follow(query: string, options: OpenOptions = {}): Promise<EventClient> {
    const path = query.startsWith('/') ? query : `${records}?_live=sse${query === '' ? '' : `&${query}`}`;
    const client = await EventClient.open(this.service.origin, path, options);
    this.#clients.push(client);
    return client;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.service.close();
  }
}

function timestampOf({ body }: TestResponse): number {
  return (body as { data: { last_modified: number } }).data.last_modified;
}
