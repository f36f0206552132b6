// The program in the guide to synchronising, taken from the page and run: two copies of one list follow each other, and
// notice when deletions are not reported.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forgetting } from '../support/forgetting.ts';
import { authorizationOf, startTestService, type TestService } from '../../src/testing/index.ts';

interface Copy {
  readonly objects: ReadonlyMap<string, { readonly last_modified: number; readonly count?: number }>;
  pull(): Promise<void>;
  update(id: string, change: (current?: { count?: number }) => object): Promise<unknown>;
}

interface Program {
  readonly Copy: new (list: string, headers: Readonly<Record<string, string>>) => Copy;
}

async function loadProgram(): Promise<Program> {
  const page = readFileSync(new URL('../../docs/guides/syncing.md', import.meta.url), 'utf8');
  const code = /```js\n(\s*export class Copy[^]*?)```/.exec(page)?.[1] ?? '';
  const program: Program = await import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(code)}`);
  return program;
}

describe('the program in the guide to synchronising', () => {
  let service: TestService;
  let program: Program;

  beforeAll(async () => {
    service = await startTestService({ settings: { includes: 'default_bucket', paginate_by: '7' } });
    program = await loadProgram();
  });

  afterAll(() => service.close());

  const path = (collection: string): string => `/v1/buckets/default/collections/${collection}`;
  const copyOf = (collection: string): Copy =>
    new program.Copy(`${service.origin}${path(collection)}/records`, { Authorization: authorizationOf('alice') });

  it('follows every change, page by page', async () => {
    const alice = service.asUser('alice');
    const copy = copyOf('pages');
    await copy.pull();
    const numbers = Array.from({ length: 30 }, (_, n) => n);
    await Promise.all(numbers.map((n) => alice.request('POST', `${path('pages')}/records`, { body: { data: { n } } })));
    await copy.pull();
    expect(copy.objects.size).toBe(30);
    for (let page: string | undefined = `${path('pages')}/records?max_n=9`; page !== undefined;) {
      const { headers } = await alice.request('DELETE', page);
      page = headers['next-page']?.slice(service.origin.length);
    }
    await copy.pull();
    expect(copy.objects.size).toBe(20);
  });

  it('loses no change of two devices that count at the same time', async () => {
    const [phone, laptop] = [copyOf('counter'), copyOf('counter')];
    const increase = (current?: { count?: number }): object => ({ count: (current?.count ?? 0) + 1 });
    for (let round = 0; round < 5; round++) {
      await Promise.all([phone.update('clicks', increase), laptop.update('clicks', increase)]);
    }
    await phone.pull();
    expect(phone.objects.get('clicks')?.count).toBe(10);
  });

  it('notices that the collection was deleted and made again, and starts anew', async () => {
    const alice = service.asUser('alice');
    const copy = copyOf('gone');
    await copy.update('a', () => ({}));
    await copy.update('b', () => ({}));
    await copy.pull();
    await alice.request('DELETE', path('gone'));
    await alice.request('PUT', `${path('gone')}/records/c`);
    await copy.pull();
    expect([...copy.objects.keys()]).toEqual(['c']);
  });

  it.each([false, true])('notices that deletions were forgotten, also where it is refused (%s)', async (refuses) => {
    const settings = { includes: 'default_bucket', refuse_outdated_since: String(refuses) };
    const other = await startTestService({ settings, plugins: [forgetting] });
    try {
      const alice = other.asUser('alice');
      const records = `${path('purged')}/records`;
      const copy = new program.Copy(`${other.origin}${records}`, { Authorization: authorizationOf('alice') });
      for (const id of ['a', 'b', 'c']) await alice.request('PUT', `${records}/${id}`);
      await copy.pull();
      await alice.request('DELETE', `${records}/b`);
      await alice.request('PUT', `${records}/d`);
      await alice.request('POST', '/v1/forget');
      await copy.pull();
      expect([...copy.objects.keys()].toSorted()).toEqual(['a', 'c', 'd']);
    } finally {
      await other.close();
    }
  });
});
