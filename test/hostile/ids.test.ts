// Addresses with ids that no kind accepts: nothing is read or written, and no caller reaches an object whose id is what a
// backend makes of the text.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestResponse } from '../../src/testing/service/service-client.ts';
import { backends, startWatched, type WatchedService } from './service.ts';

/** As they stand in a path. The first ones are those that a backend may take for `p`, `c` or `r`. */
const suffixes = [
  '%00',
  '%00%00',
  '%00x',
  '%0A',
  '%0D%0A',
  '%7F',
  '%C2%85',
  '%20',
  '.',
  '%EF%BB%BF',
  '%CC%81',
  '%25',
  '*',
];
const wholes = [
  '%00',
  '..',
  '%2E',
  '*',
  '%25',
  '%2500',
  '__proto__',
  '%D0%B0',
  "'",
  '%22',
  '%5C',
  '%F0%9F%98%80',
  'a'.repeat(600),
];

const verbs = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const refusals = [400, 401, 403, 405];

/** Every kind of address, with one id in the place of `{}`. */
const shapes = [
  '/buckets/{}',
  '/buckets/{}/groups',
  '/buckets/{}/groups/c',
  '/buckets/{}/collections/c',
  '/buckets/{}/collections/c/records',
  '/buckets/{}/collections/c/records/r',
  '/buckets/{}/history',
  '/buckets/{}/snapshot/collections/c@1795366600000',
  '/buckets/p/groups/{}',
  '/buckets/p/collections/{}',
  '/buckets/p/collections/{}/records?_since=0',
  '/buckets/p/collections/{}/records/r',
  '/buckets/p/collections/{}/changeset?_expected=0',
  '/buckets/p/snapshot/collections/{}@1795366600000',
  '/buckets/p/snapshot/collections/c@1{}',
  '/buckets/p/collections/c/records/{}',
  '/buckets/p/collections/c/records/{}/attachment',
  '/attachments/{}/c/r/file.txt',
  '/attachments/p/c/{}/file.txt',
];

const lookalikes: Readonly<Record<string, string>> = {
  buckets: 'p',
  groups: 'c',
  collections: 'c',
  records: 'r',
  attachments: 'p',
  c: 'r',
};

/** The addresses, with hostile ids after the name of what is there, and alone. */
const addresses = shapes.flatMap((shape) => {
  const before = shape.slice(0, shape.indexOf('{}')).split('/').at(-2) ?? '';
  const name = lookalikes[before] ?? '';
  return [...suffixes.map((suffix) => name + suffix), ...wholes].map((id) => shape.replace('{}', id));
});

describe.each(backends)('hostile ids on $name', (backend) => {
  let watched: WatchedService;
  const send = (user: string | undefined, method: string, path: string, more: object = {}): Promise<TestResponse> =>
    watched.service.request(method, `/v1${path}`, { ...(user === undefined ? {} : { auth: user }), ...more });
  const put = async (user: string, path: string, body: object = {}): Promise<TestResponse> => {
    const response = await send(user, 'PUT', path, { body });
    expect(response.status, `${path}: ${response.text}`).toBe(201);
    return response;
  };
  let folder: string;
  let owner: string;
  let helper: string;
  /** Everything that there is, as its owner sees it. */
  const everything = async (): Promise<string> => {
    const lists = ['/buckets', '/buckets/p/groups', '/buckets/p/collections', '/buckets/p/collections/c/records'];
    const objects = [
      '/buckets/p',
      '/buckets/p/collections/c',
      '/buckets/p/collections/c/records/r',
      '/buckets/p/groups/c',
    ];
    const seen = [];
    for (const path of [...lists, ...objects, '/permissions']) seen.push((await send('ann', 'GET', path)).text);
    return seen.join('\n');
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hostile-ids-'));
    watched = await startWatched(backend, {
      includes: 'default_bucket history attachments changes',
      'attachment.base_path': folder,
    });
    const idOf = async (user: string): Promise<string> => ((await send(user, 'GET', '/')).body as Root).user.id;
    [owner, helper] = [await idOf('ann'), await idOf('ben')];
    expect(owner).not.toBe(helper);
    const creating = { 'group:create': [helper], 'collection:create': [helper] };
    await put('ann', '/buckets/p', { permissions: creating });
    await put('ann', '/buckets/p/collections/c', { permissions: { 'record:create': [helper] } });
    await put('ann', '/buckets/p/collections/c/records/r', { data: { secret: 1 } });
    await put('ann', '/buckets/p/groups/c', { data: { members: [] } });
  });
  afterAll(async () => {
    await watched.service.close();
    await rm(folder, { recursive: true });
  });

  it('refuses every address with such an id to all callers, and nothing changes', async () => {
    const before = await everything();
    const wrong: string[] = [];
    for (const path of addresses) {
      for (const method of verbs) {
        for (const user of method === 'GET' ? ['ann', 'ben', undefined] : ['ann', 'ben']) {
          const body = ['POST', 'PUT', 'PATCH'].includes(method) ? { body: { data: {} } } : {};
          const { status } = await send(user, method, path, body);
          const isFile = status === 404 && path.startsWith('/attachments/');
          if (!refusals.includes(status) && !isFile) wrong.push(`${user ?? 'nobody'} ${method} ${path}: ${status}`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(await everything()).toBe(before);
    expect(watched.errors).toEqual([]);
  }, 120_000);

  it('says which ids are accepted to callers who have access, and only the refusal to others', async () => {
    const path = '/buckets/p/collections/c%00/records/r';
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      const allowed = await send('ann', method, path, method === 'GET' ? {} : { body: {} });
      expect(allowed.status).toBe(400);
      expect(allowed.body).toMatchObject({
        errno: 107,
        details: [
          {
            location: 'path',
            name: null,
            description: expect.stringMatching(/^the id "c\\u0000" is not allowed\. Allowed: letters/),
          },
        ],
      });
      expect((await send('ben', method, path, method === 'GET' ? {} : { body: {} })).status).toBe(403);
      expect((await send(undefined, method, path, method === 'GET' ? {} : { body: {} })).status).toBe(401);
    }
  });

  it('gives callers who may create groups no way to a collection of that name', async () => {
    await put('ann', '/buckets/p/collections/payroll');
    await put('ann', '/buckets/p/collections/payroll/records/salary', { data: { amount: 1 } });
    expect((await send('ben', 'PUT', '/buckets/p%00/groups/payroll', { body: {} })).status).toBe(403);
    for (const path of ['/buckets/p/collections/payroll', '/buckets/p%00/collections/payroll']) {
      for (const method of ['GET', 'DELETE']) expect((await send('ben', method, path)).status).toBe(403);
    }
    const record = await send('ann', 'GET', '/buckets/p/collections/payroll/records/salary');
    expect(record.body).toMatchObject({ data: { amount: 1 } });
  });

  it('leaves no permission entry for a record that is created later', async () => {
    expect((await send('ben', 'PUT', '/buckets/p/collections/c%00/records/later', { body: {} })).status).toBe(403);
    await put('ann', '/buckets/p/collections/c/records/later', { data: { secret: 2 } });
    expect((await send('ben', 'GET', '/buckets/p/collections/c/records/later')).status).toBe(403);
    const { body } = await send('ann', 'GET', '/buckets/p/collections/c/records/later');
    expect(body).toMatchObject({ permissions: { write: [owner] } });
  });

  it('answers no poll of such a list', async () => {
    for (const since of ['', '?_since=0', '?_since=%229999999999999%22']) {
      const { status } = await send('ann', 'GET', `/buckets/p/collections/c%00/records${since}`, {
        headers: { 'If-None-Match': '"1"' },
      });
      expect(status).toBe(400);
    }
  });

  it('refuses such ids in entries of a batch, in their defaults, and in what redirects lead to', async () => {
    const requests = [
      { path: '/buckets/p%00/groups/payroll', body: {} },
      { method: 'DELETE', path: '/v1/buckets/p%00/collections/c' },
      { method: 'GET', path: '/buckets/p%00/' },
    ];
    const { body } = await send('ben', 'POST', '/batch', { body: { defaults: { method: 'PUT' }, requests } });
    expect((body as Batch).responses.map(({ status }) => status)).toEqual([403, 403, 403]);
    const defaults = { method: 'DELETE', path: '/buckets/p%00/collections/c' };
    const bare = await send('ben', 'POST', '/batch', { body: { defaults, requests: [{}] } });
    expect((bare.body as Batch).responses.map(({ status }) => status)).toEqual([403]);
  });

  it('creates nothing in the personal bucket on the way to such an id', async () => {
    for (const path of [
      '/collections/c%00',
      '/collections/c%00/records',
      '/collections/c/records/r%00',
      '/groups/g%00',
    ]) {
      for (const method of ['GET', 'PUT', 'POST']) {
        const { status } = await send('zoe', method, `/buckets/default${path}`, method === 'GET' ? {} : { body: {} });
        expect([400, 405], `${method} ${path}`).toContain(status);
      }
    }
    expect((await send('zoe', 'GET', '/buckets')).body).toEqual({ data: [] });
    expect((await send(undefined, 'GET', '/buckets/default/collections/c%00')).status).toBe(401);
  });

  it('refuses to grant anything to a group whose URI no group can have', async () => {
    for (const group of [
      '/buckets/p\n/groups/c',
      '/buckets/p/groups/..',
      '/buckets/p/groups/c c',
      '/buckets/é/groups/c',
    ]) {
      const body = { permissions: { read: [group] } };
      for (const method of ['PUT', 'PATCH']) {
        const { status } = await send('ann', method, '/buckets/p/collections/c', { body });
        expect(status, group).toBe(400);
      }
    }
    const body = { permissions: { read: ['/buckets/p/groups/later', '/teams/a b', 'p\n'] } };
    expect((await send('ann', 'PATCH', '/buckets/p/collections/c', { body })).status).toBe(200);
  });

  it('refuses a posted id that the kind does not accept', async () => {
    for (const id of ['a\u0000', 'a/b', '', '..', 'a\n', '\ud800', 'a'.repeat(600)]) {
      const { status } = await send('ann', 'POST', '/buckets/p/collections/c/records', { body: { data: { id } } });
      expect(status, JSON.stringify(id)).toBe(400);
    }
  });
});

interface Root {
  readonly user: { readonly id: string };
}

interface Batch {
  readonly responses: readonly { readonly status: number }[];
}
