// Objects and lists of the service, with their attributes as text.
import type { Answer, Api } from './api.ts';
import { elementsOf, memberText, membersOf } from './json-text.ts';

export type Permissions = ReadonlyMap<string, readonly string[]>;

export interface StoredObject {
  readonly etag: string;
  /** The attributes as JSON text. */
  readonly data: string;
  readonly permissions: Permissions;
}

/** One page of a list. */
export interface Page {
  /** The objects as JSON texts. */
  readonly rows: readonly string[];
  readonly etag: string;
  /** Query of the next page. */
  readonly next: string | undefined;
}

export function readObject({ text, headers }: Pick<Answer, 'text' | 'headers'>): StoredObject {
  const data = memberText(text, 'data') ?? '{}';
  return {
    etag: headers.get('ETag') ?? `"${memberText(data, 'last_modified') ?? ''}"`,
    data,
    permissions: new Map(
      membersOf(memberText(text, 'permissions') ?? '{}').map(({ key, text: principals }) => [
        key,
        elementsOf(principals).map((principal) => String(JSON.parse(principal))),
      ]),
    ),
  };
}

export async function loadObject(api: Api, path: string, signal?: AbortSignal): Promise<StoredObject> {
  return readObject(await api.request('GET', path, signal === undefined ? {} : { signal }));
}

/** Returns the current object, or `undefined` when it was deleted. */
export async function findObject(api: Api, path: string): Promise<StoredObject | undefined> {
  const answer = await api.request('GET', path, { allowed: [404] });
  return answer.status === 404 ? undefined : readObject(answer);
}

/** Loads one page of a list. */
export async function loadPage(
  api: Api,
  path: string,
  query: URLSearchParams | string,
  signal?: AbortSignal,
): Promise<Page> {
  const { text, headers } = await api.request('GET', path, { query, ...(signal === undefined ? {} : { signal }) });
  const next = headers.get('Next-Page');
  return {
    rows: elementsOf(memberText(text, 'data') ?? '[]'),
    etag: headers.get('ETag') ?? '',
    // Only the query: behind a proxy the host may differ.
    next: next === null ? undefined : new URL(next, document.baseURI).search,
  };
}

/** Returns the number of objects that match, or `undefined` when the service does not say. */
export async function countObjects(
  api: Api,
  path: string,
  query: URLSearchParams,
  signal?: AbortSignal,
): Promise<number | undefined> {
  const { headers } = await api.request('HEAD', path, { query, ...(signal === undefined ? {} : { signal }) });
  const count = Number(headers.get('Total-Objects') ?? headers.get('Total-Records') ?? 'none');
  return Number.isNaN(count) ? undefined : count;
}
