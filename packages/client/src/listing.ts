// Reads a list: page by page, as one page, or completely.
import { CofferError } from './errors.ts';
import { check, type Reply, type Request, type Send } from './transport.ts';
import type { ChangesOptions, ListOptions, Page, Revision } from './types.ts';
import { bareOf, defined, preconditions } from './values.ts';

type Parameters = { readonly [K in keyof ChangesOptions<never>]?: ChangesOptions<never>[K] | undefined };

/** Formats the query string of a list, without the question mark. */
export function formatQuery(options: Parameters): string {
  const { filter, sort, fields, since, before, limit, gone, params } = options;
  const given = {
    _filter: JSON.stringify(filter, refuseUnlikeJson),
    _sort: sort?.join(),
    _fields: fields?.join(),
    _since: bareOf(since),
    _before: bareOf(before),
    _limit: limit?.toString(),
    _gone: gone ? 'true' : undefined,
    ...params,
  };
  return String(new URLSearchParams(defined<Record<string, string | undefined>>(given)));
}

/** JSON leaves out members that are undefined, and makes null of NaN: a selector would match more, or everything. */
function refuseUnlikeJson(name: string, value: unknown): unknown {
  if (name && value !== null && JSON.stringify([value]) === '[null]')
    throw new CofferError('validation', `"${name}" is no value`);
  return value;
}

/** A list with its parameters. Each page is a request of its own. */
export class Listing<C> implements AsyncIterable<Page<C>> {
  readonly #send: Send;
  readonly #path: string;
  readonly #options: ListOptions<never>;
  readonly #accept: (item: object) => Promise<object>;
  readonly #method: string;

  /** @param method of the request of each page; DELETE deletes what it returns */
  constructor(
    send: Send,
    path: string,
    options: object,
    accept: (item: object) => Promise<object>,
    method: string = 'GET',
  ) {
    this.#send = send;
    this.#path = path;
    this.#options = options;
    this.#accept = accept;
    this.#method = method;
  }

  /**
   * Reads one page.
   *
   * @param next `next` of the page before; absent: the first page
   */
  async page(next?: string): Promise<Page<C>> {
    const [page, total] = await Promise.all([
      this.#read(this.#get(next)),
      this.#options.total ? this.count() : undefined,
    ]);
    return defined({ ...page!, total });
  }

  /** Reads the first page, or returns `undefined` when the list still has the timestamp. */
  async pageIfChanged(etag: Revision): Promise<Page<C> | undefined> {
    return this.#read({ ...this.#get(), headers: preconditions({ ifNoneMatch: etag }) });
  }

  /** Reads the pages, one after the other. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Page<C>, void, undefined> {
    let next: string | undefined;
    do {
      const page: Page<C> = await this.page(next);
      yield page;
      next = page.next;
    } while (next !== undefined);
  }

  /**
   * Reads all pages. The result has the timestamp of the first page, and `resync` of any. In the default order, objects that
   * change meanwhile may be missing: `changes` since that timestamp has them.
   */
  async all(): Promise<Page<C>> {
    const data: C[] = [];
    let first: Page<C> | undefined;
    let resync: string | undefined;
    for await (const page of this) {
      first ??= page;
      resync ??= page.resync;
      for (const item of page.data) data.push(item);
    }
    return defined({ ...first!, data, resync, next: undefined });
  }

  /** Counts the matching live objects that the caller may see. */
  async count(): Promise<number> {
    return this.#send({ ...this.#get(), method: 'HEAD' }, (reply) => {
      check(reply);
      return Number(reply.headers.get('Total-Objects'));
    });
  }

  #get(next?: string): Request {
    const { ifMatch, signal } = this.#options;
    const query = next ?? formatQuery(this.#options);
    const headers = next === undefined ? preconditions({ ifMatch }) : {};
    return { method: this.#method, path: `${this.#path}?${query}`, headers, signal };
  }

  #read(request: Request): Promise<Page<C> | undefined> {
    return this.#send(request, (reply) => (reply.status === 304 ? undefined : readPage(reply, this.#accept)));
  }
}

/** Reads the page in a response. The next page has the same path, so only its query counts, which proxies do not rewrite. */
export async function readPage<C>(
  reply: Reply,
  accept: (item: object) => Promise<object> = async (item) => item,
): Promise<Page<C>> {
  const { data } = check(reply) as { readonly data: readonly object[] };
  const { headers } = reply;
  return defined({
    data: (await Promise.all(data.map((item) => accept(item)))) as C[],
    etag: bareOf(headers.get('ETag') ?? ''),
    next: headers.get('Next-Page')?.replace(/^[^?]*\?/, ''),
    resync: bareOf(headers.get('Resync')),
  });
}
