// Every way to put a hostile id into an address: the shapes of addresses, the ways to send them, and who does it.
import { boundary, formBytes } from '../support/attachments.ts';
import { encodePath, hostileIdsNear, hostileSegments } from '../support/hostile-ids.ts';
import type { TestRequest, TestResponse, TestService } from '../../src/testing/service/service-client.ts';

/** An address; the hostile id takes the place of the first `?`. */
interface Shape {
  readonly address: string;
  /** The id that the hostile ones resemble. */
  readonly near: string;
}

function at(near: string, ...addresses: readonly string[]): readonly Shape[] {
  return addresses.map((address) => ({ address, near }));
}

export const shapes: readonly Shape[] = [
  ...at(
    'p',
    '/buckets/?',
    '/buckets/?/groups',
    '/buckets/?/groups/c',
    '/buckets/?/collections',
    '/buckets/?/collections/c',
    '/buckets/?/collections/c/records',
    '/buckets/?/collections/c/records/c',
    '/buckets/?/collections/c/records/c/attachment',
    '/buckets/?/collections/c/changeset?_expected=0',
    '/buckets/?/history',
    '/buckets/?/snapshot/collections/c@9000000000000',
    '/attachments/?/c/c/c.txt',
  ),
  ...at('p_', '/buckets/?', '/buckets/?/collections/c/records/c', '/buckets/?/history'),
  ...at(
    'c',
    '/buckets/p/groups/?',
    '/buckets/p/collections/?',
    '/buckets/p/collections/?/records',
    '/buckets/p/collections/?/records/c',
    '/buckets/p/collections/?/records/c/attachment',
    '/buckets/p/collections/?/changeset?_expected=0',
    '/buckets/p/collections/c/records/?',
    '/buckets/p/collections/c/records/?/attachment',
    '/buckets/p/snapshot/collections/?@9000000000000',
    '/buckets/p/snapshot/collections/c@?',
    '/buckets/default/groups/?',
    '/buckets/default/collections/?',
    '/buckets/default/collections/?/records',
    '/buckets/default/collections/?/records/c',
    '/buckets/default/collections/c/records/?',
    '/buckets/default/snapshot/collections/?@9000000000000',
    '/buckets/default/collections/c/records/?/attachment',
    '/attachments/p/?/c/c.txt',
    '/attachments/p/c/?/c.txt',
    '/attachments/p/c/c/?',
    '/buckets/monitor/collections/?/changeset?_expected=0',
    '/buckets/monitor/collections/changes/records/?',
  ),
];

export const verbs = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** `maker` may create objects below the bucket `p` and records in its collection `c`, and nothing else. */
export const users = ['owner', 'maker', 'stranger', undefined] as const;

/** Ways to send one request. */
export const doors = ['alone', 'in a batch', 'by the defaults of a batch', 'without version', 'with a slash'] as const;

export interface Attack {
  readonly user: (typeof users)[number];
  readonly verb: (typeof verbs)[number];
  /** Percent-encoded, without version. */
  readonly path: string;
  readonly door: (typeof doors)[number];
}

/** Every attack, by number: the product of all that there is. */
export class Attacks {
  readonly #paths = shapes.flatMap(({ address, near }) => {
    const mark = address.indexOf('?');
    const segments = [...hostileIdsNear(near).map((id) => encodePath(id)), ...hostileSegments];
    return segments.map((segment) => address.slice(0, mark) + segment + address.slice(mark + 1));
  });

  get count(): number {
    return this.#paths.length * verbs.length * users.length * doors.length;
  }

  attack(number: number): Attack {
    let rest = number;
    const draw = <T>(values: readonly T[]): T => {
      const value = values[rest % values.length]!;
      rest = Math.floor(rest / values.length);
      return value;
    };
    return { user: draw(users), verb: draw(verbs), door: draw(doors), path: draw(this.#paths) };
  }
}

const body = { data: { n: 1 }, permissions: { write: ['system.Everyone'] } };
const form: TestRequest = {
  raw: formBytes([{ name: 'attachment', filename: 'c.txt', type: 'text/plain', content: 'c' }]),
  headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` },
};

/** Sends an attack, and follows redirects. @returns what was answered in the end, of a batch the answer inside */
export async function attackService(service: TestService, { user, verb, path, door }: Attack): Promise<number> {
  const hasBody = verb === 'POST' || verb === 'PUT' || verb === 'PATCH';
  const auth = user === undefined ? {} : { auth: user };
  const entry = { method: verb, path, ...(hasBody ? { body } : {}) };
  if (door === 'in a batch') {
    return entryStatus(await service.request('POST', '/v1/batch', { ...auth, body: { requests: [entry] } }));
  }
  if (door === 'by the defaults of a batch') {
    return entryStatus(
      await service.request('POST', '/v1/batch', { ...auth, body: { defaults: entry, requests: [{}] } }),
    );
  }
  const content = path.endsWith('/attachment') && verb === 'POST' ? form : hasBody ? { body } : {};
  const [address, query] = path.split('?');
  const target = [door === 'with a slash' ? `${address}/` : address, ...(query === undefined ? [] : [query])].join('?');
  let next = door === 'without version' ? target : `/v1${target}`;
  for (;;) {
    const { status, headers } = await service.request(verb, next, { ...auth, ...content });
    const { location } = headers;
    if (status !== 307 || location === undefined || !location.startsWith(service.origin)) return status;
    next = location.slice(service.origin.length);
  }
}

/** Of the only entry. */
function entryStatus({ status, body: answer }: TestResponse): number {
  return status === 200 ? (answer as { responses: readonly { status: number }[] }).responses[0]!.status : status;
}
