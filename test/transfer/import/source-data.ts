// A server with some of everything that an import must bring over, and what its clients see of it.
import { authorizationOf, type TestClient, type TestResponse, type TestService } from '../../../src/testing/index.ts';

const records = (bucket: string, collection: string): string =>
  `/v1/buckets/${bucket}/collections/${collection}/records`;

/** Odd contents, as texts of JSON: digits, keys and characters that do not survive careless hands. */
export const oddData: readonly string[] = [
  '{"n":12345678901234567890,"f":1.0,"e":1e22,"small":0.1}',
  '{"__proto__":{"x":1},"constructor":"c","toString":null}',
  String.raw`{"text":"\u2028\ud83d\ude00 \u00e9 e\u0301 \\ \" \u007f","":"empty key"}`,
  '{"deep":[[[[{"a":[]}]]]],"deleted":false,"permissions":{"read":["x"]}}',
];

async function send(client: TestClient, method: string, path: string, body?: unknown): Promise<void> {
  const options = typeof body === 'string' ? { raw: body, headers: { 'Content-Type': 'application/json' } } : { body };
  const { status, text } = await client.request(method, path, body === undefined ? {} : options);
  if (status >= 400) throw new Error(`${method} ${path} answered ${status} ${text}`);
}

/** Fills the server as alice, in three buckets with eight collections each. */
export async function fillSource(service: TestService): Promise<void> {
  const alice = service.asUser('alice');
  for (const bucket of ['blog', 'shop', 'a_b']) {
    await send(alice, 'PUT', `/v1/buckets/${bucket}`, {
      data: { city: 'Ghent' },
      permissions: { read: ['system.Everyone'] },
    });
    const members = [await idOf(service, 'bob'), 'account:carol', 'system.Authenticated'];
    await send(alice, 'PUT', `/v1/buckets/${bucket}/groups/staff`, { data: { members } });
    await send(alice, 'PUT', `/v1/buckets/${bucket}/groups/gone`, { data: { members } });
    await send(alice, 'DELETE', `/v1/buckets/${bucket}/groups/gone`);
    for (let n = 0; n < 8; n++) {
      const permissions = { 'record:create': [`/buckets/${bucket}/groups/staff`], read: ['system.Authenticated'] };
      await send(alice, 'PUT', `/v1/buckets/${bucket}/collections/c${n}`, { data: { n }, permissions });
      const entries = Array.from({ length: 3 + n }, (_, index) => ({
        method: 'PUT',
        path: `${records(bucket, `c${n}`)}/r${index}`,
        body: {
          data: { index, of: bucket },
          permissions: index % 2 === 0 ? {} : { read: ['basicauth:reader', 'système'] },
        },
      }));
      await send(alice, 'POST', '/v1/batch', { requests: entries });
      await send(alice, 'DELETE', `${records(bucket, `c${n}`)}/r1`);
    }
  }
  for (const [index, data] of oddData.entries()) {
    await send(alice, 'PUT', `${records('blog', 'c0')}/odd${index}`, `{"data":${data}}`);
  }
  // Timestamps that were given: at the beginning of time, and far ahead.
  await send(alice, 'PUT', `${records('blog', 'c1')}/first`, { data: { last_modified: 0 } });
  await send(alice, 'PUT', `${records('blog', 'c1')}/ahead`, { data: { last_modified: 4_000_000_000_000 } });
  await send(alice, 'PUT', '/v1/buckets/lost', {});
  await send(alice, 'DELETE', '/v1/buckets/lost');
  await send(alice, 'PUT', '/v1/buckets/shop/collections/lost', {});
  await send(alice, 'DELETE', '/v1/buckets/shop/collections/lost');
  await send(service.asUser('bob'), 'PUT', `${records('blog', 'c2')}/of-bob`, { data: { by: 'bob' } });
}

/** The user id that a server gives a user of the tests. */
export async function idOf(service: TestService, user: string): Promise<string> {
  const { body } = await service.request('GET', '/v1/', { auth: user });
  return (body as { readonly user: { readonly id: string } }).user.id;
}

/** All lists with tombstones, clocks and numbers, and all objects with permissions, as a user sees them, as texts. */
export async function answersOf(service: TestService, user: string): Promise<ReadonlyMap<string, unknown>> {
  const client = service.asUser(user);
  const answers = new Map<string, unknown>();
  const see = async (path: string): Promise<string[]> => {
    const { headers, status } = await client.request('HEAD', path);
    const texts: string[] = [];
    const ids: string[] = [];
    let next: string | undefined = `${path}?min_last_modified=0&_sort=last_modified,id`;
    while (next !== undefined) {
      const page: TestResponse = await client.request('GET', next);
      texts.push(page.text.slice('{"data":['.length, -']}'.length));
      const { data = [] } = page.body as {
        readonly data?: readonly { readonly id: string; readonly deleted?: unknown }[];
      };
      ids.push(...data.filter(({ deleted }) => deleted !== true).map(({ id }) => id));
      next = page.headers['next-page']?.slice(service.origin.length);
    }
    answers.set(path, [texts.join(','), headers['etag'], headers['last-modified'], headers['total-objects'], status]);
    for (const id of ids) {
      const object = await client.request('GET', `${path}/${id}`);
      const { permissions } = object.body as { readonly permissions?: Readonly<Record<string, string[]>> };
      const sorted = Object.entries(permissions ?? {}).map(([name, all]) => [name, all.toSorted()] as const);
      const data = object.text.slice(object.text.indexOf('"data":'));
      answers.set(`${path}/${id}`, [data, Object.fromEntries(sorted), object.headers['etag']]);
    }
    return ids;
  };
  for (const bucket of await see('/v1/buckets')) {
    await see(`/v1/buckets/${bucket}/groups`);
    for (const collection of await see(`/v1/buckets/${bucket}/collections`)) await see(records(bucket, collection));
  }
  const { body } = await client.request('GET', '/v1/');
  const { user: seen } = body as { readonly user: { readonly principals: string[] } };
  answers.set('user', { ...seen, principals: seen.principals.toSorted() });
  return answers;
}

/** What an import needs to know to read from a server as a user. */
export function sourceOf(
  { origin }: Pick<TestService, 'origin'>,
  user = 'alice',
): {
  readonly root: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly concurrency: number;
} {
  return { root: new URL('/v1/', origin), headers: { authorization: authorizationOf(user) }, concurrency: 3 };
}
