// Text search (`_q`) of lists with a text index: what matches, in which order, with filters, pages, permissions and live updates.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TestResponse, TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

const collection = '/v1/buckets/b/collections/c';
const records = `${collection}/records`;

forEachBackend((backend) => {
  const isSearched = backend.name !== 'redis';
  describe(`text search on ${backend.name}`, () => {
    let service: TestService;
    beforeEach(async () => {
      service = await backend.start();
      await send('PUT', '/v1/buckets/b');
      await send('PUT', collection, { indexes: [{ text: ['title', 'tags', 'body.text'] }] });
    });
    afterEach(() => service.close());

    const send = (method: string, path: string, data?: unknown, auth = 'alice'): Promise<TestResponse> =>
      service.request(method, path, { auth, ...(data === undefined ? {} : { body: { data } }) });
    const store = async (texts: Readonly<Record<string, unknown>>): Promise<void> => {
      for (const [id, value] of Object.entries(texts)) {
        const data = typeof value === 'string' ? { title: value } : value;
        expect((await send('PUT', `${records}/${id}`, data)).status).toBe(201);
      }
    };
    const find = async (q: string, more = '', auth = 'alice'): Promise<readonly string[]> => {
      const { status, body } = await send('GET', `${records}?_q=${encodeURIComponent(q)}${more}`, undefined, auth);
      expect([status, body]).toEqual([200, expect.anything()]);
      return (body as { data: { id: string }[] }).data.map(({ id }) => id);
    };
    const sorted = async (q: string, more = ''): Promise<readonly string[]> => (await find(q, more)).toSorted();
    const total = async (q: string, more = ''): Promise<string | undefined> =>
      (await send('HEAD', `${records}?_q=${encodeURIComponent(q)}${more}`)).headers['total-objects'];
    const ready = (): Promise<void> =>
      expect
        .poll(async () => ((await send('GET', `${collection}/indexes`)).body as { data: { state: string }[] }).data, {
          timeout: 30_000,
        })
        .toEqual([expect.objectContaining({ text: ['title', 'tags', 'body.text'], state: 'ready' })]);

    if (!isSearched) {
      it('responds 400 and says which backends have it', async () => {
        const { status, body } = await send('GET', `${records}?_q=a`);
        expect(status).toBe(400);
        expect(JSON.stringify(body)).toContain('use SQLite, PostgreSQL or memory');
        const root = (await send('GET', '/v1/')).body as { capabilities: Record<string, unknown> };
        expect(root.capabilities).not.toHaveProperty('text-search');
      });
      return;
    }

    it('finds words, phrases, prefixes, and leaves out excluded ones', async () => {
      await store({
        tea: 'Green tea with milk in a cup',
        cake: 'Milk cake, green icing',
        choc: { title: 'Chocolate', tags: ['sweet', 'tea time'], body: { text: 'No milk.' } },
        nothing: { n: 1 },
        odd: { title: ['green', 7, null], tags: { green: 1 }, body: 'green' },
      });
      expect(await sorted('milk')).toEqual(['cake', 'choc', 'tea']);
      expect(await sorted('GREEN milk')).toEqual(['cake', 'tea']);
      expect(await sorted('"green tea"')).toEqual(['tea']);
      expect(await sorted('"tea green"')).toEqual([]);
      expect(await sorted('"green tea with milk"')).toEqual(['tea']);
      expect(await sorted('"green cup with"')).toEqual([]);
      expect(await sorted('choc*')).toEqual(['choc']);
      expect(await sorted('choc')).toEqual([]);
      expect(await sorted('milk -cake')).toEqual(['choc', 'tea']);
      expect(await sorted('milk -"green tea"')).toEqual(['cake', 'choc']);
      expect(await sorted('"sweet tea"')).toEqual([]);
      expect(await sorted('green')).toEqual(['cake', 'odd', 'tea']);
      expect(await sorted('"gre* te*" ti*')).toEqual([]);
      expect(await sorted('"tea ti"*')).toEqual(['choc']);
    });

    it('folds case and accents, and finds letters of scripts without spaces', async () => {
      await store({
        a: 'Éclair à la crème',
        b: 'STRASSE Straße',
        c: 'ὀδός ΟΔΟΣ',
        d: '日本語のテスト',
        e: '서울 여행',
        f: 'e\u0301clair',
      });
      expect(await sorted('eclair')).toEqual(['a', 'f']);
      expect(await sorted('ÉCLAIR')).toEqual(['a', 'f']);
      expect(await sorted('strasse')).toEqual(['b']);
      expect(await sorted('οδος')).toEqual(['c']);
      expect(await sorted('本語')).toEqual(['d']);
      expect(await sorted('語本')).toEqual([]);
      expect(await sorted('서울')).toEqual(['e']);
    });

    it('orders by score, by time where scores are equal, and pages through both', async () => {
      await store({
        body: { body: { text: 'apple pie' } },
        old: 'apple pie',
        twice: 'apple apple pie',
        new: 'apple pie',
        long: `apple ${'filler '.repeat(200)}`,
      });
      const best = ['twice', 'new', 'old', 'body', 'long'];
      expect((await find('apple')).slice(0, 3)).toEqual(best.slice(0, 3));
      const all = await find('apple');
      expect(all.toSorted()).toEqual(best.toSorted());
      expect(await find('apple', '&_sort=-_score')).toEqual(all);
      expect(await find('apple', '&_sort=_score,last_modified')).toEqual(all.toReversed());
      const paged: string[] = [];
      let next: string | undefined = `${records}?_q=apple&_limit=2`;
      while (next !== undefined) {
        const page: TestResponse = await send('GET', next.replace(/^https?:\/\/[^/]+/, ''));
        paged.push(...(page.body as { data: { id: string }[] }).data.map(({ id }) => id));
        next = page.headers['next-page'];
      }
      expect(paged).toEqual(all);
      expect(await find('apple', '&_sort=title,-last_modified&_limit=2')).toEqual(['twice', 'long']);
    });

    it('combines with filters, selectors, fields, totals and _since', async () => {
      await store({ a: { title: 'tea', n: 1 }, b: { title: 'tea', n: 2 }, c: { title: 'coffee', n: 2 } });
      expect(await find('tea', '&n=2')).toEqual(['b']);
      expect(await find('tea', `&_filter=${encodeURIComponent('{"$or": [{"n": 1}, {"n": 7}]}')}`)).toEqual(['a']);
      expect(await total('tea')).toBe('2');
      expect(await total('tea', '&n=2')).toBe('1');
      expect(await total('"tea"')).toBe('2');
      expect(await total('tea -coffee')).toBe('2');
      const clock = (await send('HEAD', records)).headers['etag'];
      await send('PATCH', `${records}/a`, { n: 9 });
      await send('PATCH', `${records}/c`, { n: 9 });
      await send('DELETE', `${records}/b`);
      expect(await find('tea', `&_since=${String(clock)}`)).toEqual(['a']);
      const { body } = await send(
        'GET',
        `${records}?_q=tea&_gone=true&_since=${String(clock)}&_sort=last_modified&_fields=n`,
      );
      expect((body as { data: object[] }).data).toEqual([
        expect.objectContaining({ id: 'a', n: 9 }),
        expect.objectContaining({ id: 'c', gone: true }),
        expect.objectContaining({ id: 'b', deleted: true }),
      ]);
    });

    it('follows changes, deletions and other declarations', async () => {
      await store({ a: 'tea', b: 'tea' });
      await send('PATCH', `${records}/a`, { title: 'coffee' });
      await send('DELETE', `${records}/b`);
      expect(await find('tea')).toEqual([]);
      expect(await find('coffee')).toEqual(['a']);
      await send('PUT', `${records}/b`, { title: 'tea', note: 'cold' });
      expect(await find('tea')).toEqual(['b']);
      await send('PATCH', collection, { indexes: [{ text: ['note'] }] });
      expect(await find('cold')).toEqual(['b']);
      expect(await find('tea')).toEqual([]);
      await send('PATCH', collection, { indexes: [{ text: ['title', 'tags', 'body.text'] }] });
      await ready();
      expect(await find('tea')).toEqual(['b']);
      await send('DELETE', '/v1/buckets/b');
      await send('PUT', '/v1/buckets/b');
      await send('PUT', collection, { indexes: [{ text: ['title'] }] });
      expect(await find('tea')).toEqual([]);
      expect(await total('tea')).toBe('0');
    });

    it('sees the writes of its own batch', async () => {
      const requests = [
        { method: 'PUT', path: `${records}/a`, body: { data: { title: 'tea' } } },
        { method: 'GET', path: `${records}?_q=tea` },
        { method: 'PATCH', path: `${records}/a`, body: { data: { title: 'milk' } } },
        { method: 'GET', path: `${records}?_q=tea` },
        { method: 'HEAD', path: `${records}?_q=milk` },
      ];
      const { body } = await service.request('POST', '/v1/batch', { auth: 'alice', body: { requests } });
      const { responses } = body as { responses: { body: { data?: unknown[] }; headers: Record<string, string> }[] };
      expect(responses.map(({ body: { data } }) => (Array.isArray(data) ? data.length : undefined))).toEqual([
        undefined,
        1,
        undefined,
        0,
        undefined,
      ]);
      expect(responses[4]!.headers['Total-Objects']).toBe('1');
    });

    it('deletes what it finds, page by page', async () => {
      await store({ a: 'tea', b: 'tea pot', c: 'coffee', d: 'green tea' });
      const first = await send('DELETE', `${records}?_q=tea&_limit=2`);
      expect((first.body as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual(['d', 'b']);
      const next = String(first.headers['next-page']).replace(/^https?:\/\/[^/]+/, '');
      const second = await send('DELETE', next);
      expect((second.body as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual(['a']);
      expect(second.headers['next-page']).toBeUndefined();
      expect(await find('coffee')).toEqual(['c']);
    });

    it('shows callers what they may read only', async () => {
      await store({ a: 'secret tea', b: 'public tea' });
      const { body } = await service.request('GET', '/v1/', { auth: 'bob' });
      const bob = (body as { user: { id: string } }).user.id;
      await service.request('PATCH', `${records}/b`, { auth: 'alice', body: { permissions: { read: [bob] } } });
      await service.request('PATCH', collection, { auth: 'alice', body: { permissions: { 'record:create': [bob] } } });
      expect(await find('tea', '', 'bob')).toEqual(['b']);
      expect((await send('HEAD', `${records}?_q=tea`, undefined, 'bob')).headers['total-objects']).toBe('1');
      expect((await send('GET', `${records}?_q=tea`, undefined, 'carol')).status).toBe(403);
    });

    it.each([
      ['', 200],
      ['-tea', 400],
      ['"-"', 400],
      ['!?', 400],
      ['a*', 400],
      ['日*', 200],
      ['x'.repeat(501), 400],
      ['"open phrase', 200],
      ["' OR 1=1 --x", 200],
      ['title:tea^2 AND NOT (x OR "y")', 200],
      ['%x & !yy:*', 200],
      ['ǆ \u0301 a\u0301', 200],
    ])('answers the query %j with %i', async (q, status) => {
      await store({ a: 'tea' });
      expect((await send('GET', `${records}?_q=${encodeURIComponent(q)}`)).status).toBe(status);
    });

    it('responds 400 without a text index, with what to declare', async () => {
      await send('PUT', '/v1/buckets/b/collections/plain');
      for (const method of ['GET', 'HEAD', 'DELETE']) {
        const { status, body } = await send(method, '/v1/buckets/b/collections/plain/records?_q=tea');
        expect(status).toBe(400);
        if (method !== 'HEAD') expect(JSON.stringify(body)).toContain('declare one in the attribute indexes');
      }
      expect((await send('GET', '/v1/buckets?_q=tea')).status).toBe(400);
    });

    it.each([
      [[{ text: [] }], 'indexes.0.text'],
      [[{ text: 'title' }], 'indexes.0.text'],
      [[{ text: ['-title'] }], 'indexes.0.text.0'],
      [[{ text: ['title'], unique: true }], 'indexes.0.unique'],
      [[{ text: ['a', 'b', 'c', 'd', 'e'] }], 'indexes.0.text'],
      [[{ text: ['a'] }, { text: ['b'] }], 'indexes.1'],
      [[{ text: ['id'] }], 'indexes.0.text.0'],
    ])('refuses the declaration %j', async (indexes, place) => {
      const { status, body } = await send('PATCH', collection, { indexes });
      expect(status).toBe(400);
      expect(JSON.stringify(body)).toContain(place);
    });

    it('builds the index for records that exist', async () => {
      await send('PUT', collection, {});
      const requests = Array.from({ length: 25 }, (_, n) => ({
        path: `${records}/r${n}`,
        body: { data: { title: n % 2 === 0 ? 'even tea' : 'odd milk' } },
      }));
      await service.request('POST', '/v1/batch', { auth: 'alice', body: { defaults: { method: 'PUT' }, requests } });
      const declared = { indexes: [{ text: ['title', 'tags', 'body.text'] }] };
      const { body } = await service.request('POST', '/v1/batch', {
        auth: 'alice',
        body: {
          requests: [
            { method: 'PUT', path: collection, body: { data: declared } },
            { method: 'GET', path: `${records}?_q=even` },
            { method: 'HEAD', path: `${records}?_q=even` },
          ],
        },
      });
      const { responses } = body as { responses: { body: { data: unknown[] }; headers: Record<string, string> }[] };
      expect(responses[1]!.body.data).toHaveLength(13);
      expect(responses[2]!.headers['Total-Objects']).toBe('13');
      await ready();
      expect(await find('even')).toHaveLength(13);
      expect(await total('milk')).toBe('12');
      const { headers } = await send('GET', `${records}?_q=even&_explain=true`);
      expect(headers['query-plan']).toBe(
        'index=text(title%2Ctags%2Cbody.text); objects=13; residual=0; order=sorted; keys=13',
      );
      const planOf = async (method: string, q: string): Promise<string | undefined> =>
        (await send(method, `${records}?_q=${encodeURIComponent(q)}&_explain=true`)).headers['query-plan'];
      expect(await planOf('HEAD', 'even')).toContain('index=text(title%2Ctags%2Cbody.text); objects=0');
      expect(await planOf('HEAD', '"milk even"')).toMatch(/; objects=\d+; residual=1; /);
      expect(await planOf('DELETE', 'even')).toContain('objects=13; residual=0; order=sorted; keys=13');
    });
  });
});
