// Snapshots of collections at a past time.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startTestService, type TestClient, type TestResponse, type TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

interface Data {
  readonly data: readonly { readonly id: string; readonly n?: number; readonly last_modified: number }[];
}

interface BatchEntry {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

function show(body: unknown): string {
  return (body as Data).data.map(({ id, n }) => `${id}${n}`).join(' ');
}

/** A bucket with a collection and its snapshots. */
class Past {
  readonly bucket: string;
  readonly client: TestClient;

  constructor(client: TestClient, bucket: string) {
    this.client = client;
    this.bucket = `/v1/buckets/${bucket}`;
  }

  get collection(): string {
    return `${this.bucket}/collections/c`;
  }

  async do(method: string, path: string, body?: unknown): Promise<number> {
    const response = await this.client.request(method, path, body === undefined ? {} : { body });
    expect(response.status).toBeLessThan(300);
    return Number(response.headers['etag']?.replaceAll('"', ''));
  }

  put(id: string, n: number): Promise<number> {
    return this.do('PUT', `${this.collection}/records/${id}`, { data: { n } });
  }

  delete(id: string): Promise<number> {
    return this.do('DELETE', `${this.collection}/records/${id}`);
  }

  get(at: number | string): Promise<TestResponse> {
    return this.client.request('GET', `${this.bucket}/snapshot/collections/c@${at}`);
  }

  /** Returns ids and values in order: `a1 b2`. */
  async at(instant: number): Promise<string> {
    const response = await this.get(instant);
    expect(response.status).toBe(200);
    return show(response.body);
  }

  /** Returns snapshots at several times, read in one batch after the given requests. */
  async afterDoing(entries: readonly BatchEntry[], instants: readonly number[]): Promise<readonly string[]> {
    const questions = instants.map((at) => ({ method: 'GET', path: `${this.bucket}/snapshot/collections/c@${at}` }));
    const { body } = await this.client.request('POST', '/v1/batch', { body: { requests: [...entries, ...questions] } });
    const { responses } = body as { responses: readonly { status: number; body: unknown }[] };
    for (const { status } of responses) expect(status).toBeLessThan(300);
    return responses.slice(entries.length).map((response) => show(response.body));
  }
}

forEachBackend((backend) => {
  describe(`snapshots on ${backend.name}`, () => {
    let service: TestService;
    let count = 0;

    beforeAll(async () => {
      service = await backend.start({ settings: { includes: 'history', batch_max_requests: '1000' } });
    });
    afterAll(() => service.close());

    async function createPast(): Promise<Past> {
      const past = new Past(service.asUser('alice'), `b${(count += 1)}`);
      await past.do('PUT', past.bucket);
      await past.do('PUT', past.collection);
      return past;
    }

    it('return the records of that time, newest first.', async () => {
      const past = await createPast();
      const first = await past.put('a', 1);
      const second = await past.put('b', 1);
      const changed = await past.put('a', 2);
      const deleted = await past.delete('b');
      const third = await past.put('c', 1);
      const again = await past.put('b', 2);
      expect(await past.at(first - 1)).toBe('');
      expect(await past.at(first)).toBe('a1');
      expect(await past.at(second)).toBe('b1 a1');
      expect(await past.at(changed)).toBe('a2 b1');
      expect(await past.at(deleted)).toBe('a2');
      expect(await past.at(third)).toBe('c1 a2');
      expect(await past.at(again)).toBe('b2 c1 a2');
      expect(await past.at(again + 1_000_000)).toBe('b2 c1 a2');
      expect(await past.at(0)).toBe('');
    });

    it('survive the deletion of the list and its tombstones.', async () => {
      const past = await createPast();
      await past.put('a', 1);
      const before = await past.put('b', 1);
      await past.do('DELETE', `${past.collection}/records`);
      expect(await past.at(before)).toBe('b1 a1');
      const after = await past.put('a', 3);
      expect(await past.at(after - 1)).toBe('');
      expect(await past.at(after)).toBe('a3');
    });

    it('survive the deletion of the collection with its records.', async () => {
      const past = await createPast();
      await past.put('a', 1);
      const before = await past.put('b', 1);
      const gone = await past.do('DELETE', past.collection);
      expect(await past.at(before)).toBe('b1 a1');
      expect(await past.at(gone + 1)).toBe('');
      await past.do('PUT', past.collection);
      const after = await past.put('a', 2);
      expect(await past.at(before)).toBe('b1 a1');
      expect(await past.at(gone + 1)).toBe('');
      expect(await past.at(after)).toBe('a2');
    });

    it('show a new owner of a collection nothing from before its deletion.', async () => {
      const past = await createPast();
      const secret = await past.put('a', 1);
      const bob = service.asUser('bob');
      await past.do('PATCH', past.bucket, { permissions: { 'collection:create': ['system.Authenticated'] } });
      await past.do('DELETE', past.collection);
      await bob.request('PUT', past.collection);
      const other = new Past(bob, past.bucket.slice('/v1/buckets/'.length));
      expect(await other.at(secret)).toBe('');
      const own = await other.put('a', 2);
      const changed = await other.put('a', 3);
      const deleted = await other.delete('a');
      expect([await other.at(own - 1), await other.at(own), await other.at(changed)]).toEqual(['', 'a2', 'a3']);
      expect(await other.at(deleted)).toBe('');
      expect(await past.at(secret)).toBe('a1');
      // In one request, before the history knows of it.
      const again = ['DELETE', 'PUT'].map((method) => ({ method, path: past.collection }));
      expect(await other.afterDoing(again, [secret, own, changed])).toEqual(['', '', '']);
    });

    it('omit records that the history no longer contains.', async () => {
      const past = await createPast();
      const first = await past.put('a', 1);
      const second = await past.put('b', 1);
      await past.put('a', 2);
      await past.do('DELETE', `${past.bucket}/history`);
      expect(await past.at(first)).toBe('');
      expect(await past.at(second)).toBe('b1');
    });

    it('keep numbers and keys unchanged.', async () => {
      const past = await createPast();
      const raw = '{"data":{"n":1.50,"__proto__":12345678901234567890}}';
      const response = await past.client.request('PUT', `${past.collection}/records/a`, {
        raw,
        headers: { 'Content-Type': 'application/json' },
      });
      const at = Number(response.headers['etag']?.replaceAll('"', ''));
      const unchanged = await past.get(at);
      await past.put('a', 2);
      const changed = await past.get(at);
      expect(changed.text).toBe(unchanged.text);
      expect(changed.text).toContain('{"n":1.50,"__proto__":12345678901234567890,"id":"a"');
    });

    it('include earlier changes of the same batch that are not recorded yet.', async () => {
      const past = await createPast();
      const first = await past.put('a', 1);
      const later = first + 1_000_000;
      const put = (id: string, n: number, at: number): BatchEntry => {
        return { method: 'PUT', path: `${past.collection}/records/${id}`, body: { data: { n, last_modified: at } } };
      };
      const instants = [first - 1, first, later - 1, later, later + 1, later + 2, later + 4];
      const changes = [put('a', 2, later), put('a', 3, later + 2), put('b', 1, later + 4)];
      const seen = ['', 'a1', 'a1', 'a2', 'a2', 'a3', 'b1 a3'];
      expect(await past.afterDoing(changes, instants)).toEqual(seen);
      expect(await past.afterDoing([], instants)).toEqual(seen);
    });

    it('respect an earlier deletion of their collection or bucket in the same batch.', async () => {
      const past = await createPast();
      const last = await past.put('a', 1);
      const ever = last + 1_000_000;
      const collection: BatchEntry = { method: 'DELETE', path: past.collection };
      const again: BatchEntry = { method: 'PUT', path: past.collection };
      const other: BatchEntry = { method: 'PUT', path: `${past.collection}/records/b`, body: { data: { n: 2 } } };
      const instants = [last - 1, last, ever];
      expect(await past.afterDoing([collection], instants)).toEqual(['', 'a1', '']);
      expect(await past.afterDoing([again, other], instants)).toEqual(['', 'a1', 'b2']);
      expect(await past.afterDoing([collection, again], instants)).toEqual(['', 'a1', '']);
      expect(await past.afterDoing([other, collection, again, other], instants)).toEqual(['', 'a1', 'b2']);
      const bucket: BatchEntry = { method: 'DELETE', path: past.bucket };
      const both: BatchEntry[] = [{ method: 'PUT', path: past.bucket }, again];
      expect(await past.afterDoing([other, bucket, ...both], instants)).toEqual(['', '', '']);
      expect(await past.afterDoing([], instants)).toEqual(['', '', '']);
    });

    it('contain thousands of records, changed, deleted and unchanged.', { timeout: 60_000 }, async () => {
      const past = await createPast();
      const below = past.collection.slice('/v1'.length);
      const ids = Array.from({ length: 1200 }, (_, n) => `r${n}`);
      const batch = async (some: readonly string[], method: string, n: number): Promise<number> => {
        let last = 0;
        for (let start = 0; start < some.length; start += 400) {
          const requests = some.slice(start, start + 400).map((id) => {
            return { method, path: `${below}/records/${id}`, ...(method === 'PUT' ? { body: { data: { n } } } : {}) };
          });
          const { body } = await past.client.request('POST', '/v1/batch', { body: { requests } });
          const { responses } = body as { responses: readonly { body: { data: { last_modified: number } } }[] };
          last = responses.at(-1)!.body.data.last_modified;
        }
        return last;
      };
      const before = await batch(ids, 'PUT', 1);
      await batch(ids.slice(0, 600), 'PUT', 2);
      await batch(ids.slice(600, 800), 'DELETE', 0);
      const { data } = (await past.get(before)).body as Data;
      expect(data.map(({ id, n }) => `${id}:${n}`)).toEqual(ids.toReversed().map((id) => `${id}:1`));
      const now = ((await past.get(Number.MAX_SAFE_INTEGER)).body as Data).data;
      expect(now).toHaveLength(1000);
    });
  });
});

describe('a snapshot that is too large', () => {
  it('gets 413, and a smaller one is returned.', async () => {
    const service = await startTestService({ settings: { includes: 'history', max_answer_bytes: '1000' } });
    try {
      const alice = service.asUser('alice');
      const collection = '/v1/buckets/large/collections/c';
      await alice.request('PUT', '/v1/buckets/large');
      await alice.request('PUT', collection);
      const put = async (id: string): Promise<number> => {
        const body = { data: { text: 'x'.repeat(400) } };
        const { headers } = await alice.request('PUT', `${collection}/records/${id}`, { body });
        return Number(headers['etag']?.replaceAll('"', ''));
      };
      const snapshot = (at: number): Promise<TestResponse> =>
        alice.request('GET', `/v1/buckets/large/snapshot/collections/c@${at}`);
      await put('a');
      const two = await put('b');
      const three = await put('c');
      expect((await snapshot(two)).status).toBe(200);
      expect(await snapshot(three)).toMatchObject({ status: 413, body: { errno: 113 } });
    } finally {
      await service.close();
    }
  });
});

describe('the URL of a snapshot', () => {
  let service: TestService;
  let past: Past;

  beforeAll(async () => {
    service = await startTestService({ settings: { includes: 'default_bucket history' } });
    past = new Past(service.asUser('alice'), 'b');
    await past.do('PUT', past.bucket);
    await past.do('PUT', past.collection);
    await past.put('a', 1);
  });
  afterAll(() => service.close());

  it('ends in whole milliseconds.', async () => {
    for (const wrong of ['abc', '-1', '1.5', '1e3', '%22123%22', '1%205', '1@2']) {
      const { status, body } = await past.get(wrong);
      expect([wrong, status]).toEqual([wrong, 400]);
      expect(body).toMatchObject({ errno: 107, details: [{ location: 'path', name: 'timestamp' }] });
    }
    expect((await past.get('99999999999999999999')).status).toBe(200);
    expect((await past.get('')).status).toBe(404);
    expect((await past.client.request('GET', `${past.bucket}/snapshot/collections/c`)).status).toBe(404);
    expect((await past.client.request('POST', `${past.bucket}/snapshot/collections/c@5`)).status).toBe(405);
  });

  it('gets 404 for a collection that never existed.', async () => {
    const unknown = await past.client.request('GET', `${past.bucket}/snapshot/collections/none@5`);
    expect(unknown).toMatchObject({
      status: 404,
      body: { errno: 111, details: { id: 'none', resource_name: 'collection' } },
    });
    await past.do('PUT', `${past.bucket}/collections/empty`);
    const snapshot = `${past.bucket}/snapshot/collections/empty@5`;
    expect(await past.client.request('GET', snapshot)).toMatchObject({ status: 200, body: { data: [] } });
    await past.do('DELETE', `${past.bucket}/collections/empty`);
    expect(await past.client.request('GET', snapshot)).toMatchObject({ status: 200, body: { data: [] } });
  });

  it('works in the personal bucket and with HEAD.', async () => {
    await past.do('PUT', '/v1/buckets/default/collections/c/records/x');
    const path = `/v1/buckets/default/snapshot/collections/c@${Number.MAX_SAFE_INTEGER}`;
    expect(await past.client.request('GET', path)).toMatchObject({ status: 200, body: { data: [{ id: 'x' }] } });
    expect(await past.client.request('HEAD', path)).toMatchObject({ status: 200, text: '' });
  });

  it('requires permission to read the records of the collection.', async () => {
    const at = Number.MAX_SAFE_INTEGER;
    const bob = service.asUser('bob');
    const statuses = async (bucket: string): Promise<readonly number[]> => {
      const path = `/v1/buckets/${bucket}/snapshot/collections/c@${at}`;
      return [(await bob.request('GET', path)).status, (await service.request('GET', path)).status];
    };
    expect(await statuses('b')).toEqual([403, 401]);
    expect(await statuses('none')).toEqual([403, 401]);
    expect((await bob.request('GET', `${past.bucket}/snapshot/collections/c@abc`)).status).toBe(403);
    for (const permission of ['read', 'write']) {
      for (const place of ['bucket', 'collection'] as const) {
        await past.do('PATCH', past[place], { permissions: { [permission]: ['system.Everyone'] } });
        expect(await statuses('b')).toEqual([200, 200]);
        await past.do('PATCH', past[place], { permissions: { [permission]: [] } });
        expect(await statuses('b')).toEqual([403, 401]);
      }
    }
    await past.do('PATCH', `${past.collection}/records/a`, { permissions: { read: ['system.Everyone'] } });
    await past.do('PATCH', past.collection, { permissions: { 'record:create': ['system.Everyone'] } });
    expect(await statuses('b')).toEqual([403, 401]);
  });

  it('accepts principals that the settings allow to read all records.', async () => {
    const open = await startTestService({
      settings: { includes: 'history', record_read_principals: 'system.Everyone' },
    });
    const alice = open.asUser('alice');
    await alice.request('PUT', '/v1/buckets/b');
    await alice.request('PUT', '/v1/buckets/b/collections/c');
    expect((await open.request('GET', '/v1/buckets/b/snapshot/collections/c@5')).status).toBe(200);
    expect((await open.request('GET', '/v1/buckets/b/history')).status).toBe(401);
    expect((await open.request('GET', '/v1/buckets/none/snapshot/collections/c@5')).status).toBe(404);
    await open.close();
  });
});

describe('a snapshot whose history is trimmed', () => {
  it('shows a new owner of the collection nothing from before its deletion.', async () => {
    const settings = { 'history.auto_trim_max_count': '3', 'history.auto_trim_threshold': '0' };
    const service = await startTestService({ settings: { includes: 'history', ...settings } });
    try {
      const past = new Past(service.asUser('alice'), 'b');
      await past.do('PUT', past.bucket, { permissions: { 'collection:create': ['system.Authenticated'] } });
      await past.do('PUT', past.collection);
      const secret = await past.put('a', 1);
      await past.do('DELETE', past.collection);
      const bob = new Past(service.asUser('bob'), 'b');
      await bob.do('PUT', bob.collection);
      const own = await bob.put('a', 2);
      for (let n = 0; n < 4; n++) await bob.do('PATCH', bob.collection, { data: { n } });
      const { body } = await past.client.request('GET', `${past.bucket}/history?resource_name=collection`);
      expect((body as { data: readonly { action: string }[] }).data.map(({ action }) => action)).not.toContain(
        'delete',
      );
      expect(await bob.at(secret)).toBe('');
      expect(await bob.at(own)).toBe('a2');
      expect(await past.at(secret)).toBe('a1');
    } finally {
      await service.close();
    }
  });
});

describe('a snapshot of a collection whose deletion is not in the history', () => {
  it('shows readers of the collection nothing from before it, and readers of the bucket everything.', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'coffer-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'c.sqlite3');
    const place = { storage_backend: 'sqlite', storage_url: file, permission_backend: 'sqlite', permission_url: file };
    const open = async (settings: Readonly<Record<string, string>>): Promise<readonly [TestService, Past, Past]> => {
      const service = await startTestService({ settings: { ...place, ...settings } });
      return [service, new Past(service.asUser('alice'), 'b'), new Past(service.asUser('bob'), 'b')];
    };
    let [service, alice, bob] = await open({ includes: 'history' });
    await alice.do('PUT', alice.bucket);
    await alice.do('PUT', alice.collection);
    const secret = await alice.put('a', 1);
    await service.close();
    // The history is off meanwhile.
    [service, alice, bob] = await open({});
    await alice.do('DELETE', alice.collection);
    const { body } = await bob.client.request('GET', '/v1/');
    await alice.do('PUT', alice.collection, {
      permissions: { write: [(body as { user: { id: string } }).user.id] },
    });
    await service.close();
    [service, alice, bob] = await open({ includes: 'history' });
    const first = await bob.put('a', 2);
    await bob.put('a', 3);
    expect([await bob.at(secret), await bob.at(first)]).toEqual(['', 'a2']);
    expect(await alice.at(secret)).toBe('a1');
    await service.close();
  });
});
