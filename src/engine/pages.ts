// The address of the next page of a list.
import { randomUUID } from 'node:crypto';
import type { PagePosition, SortKey } from '../core/query/ast.ts';
import { invalidParameters } from '../core/errors.ts';
import { formatToken, maxTokenLength, noncePrefix } from '../core/query/page-token.ts';
import { issueOf } from '../core/query/parameters.ts';
import type { Context } from './context.ts';
import type { EngineOptions } from './scope.ts';

export interface NextPage {
  readonly sort: readonly SortKey[];
  readonly position: PagePosition;
  readonly limit: number;
  /** Number of objects on the pages so far; informative only. */
  readonly offset: number;
}

/** Creates a nonce. In the token of a deletion it is valid once. */
export function newNonce(): string {
  return noncePrefix + randomUUID();
}

/** Parameters of the first page alone. */
const ofFirstPage: ReadonlySet<string> = new Set(['_limit', '_token', '_live', '_wait']);

/**
 * Returns the absolute address of the next page: the same request with new `_limit` and `_token`, and without a wait.
 *
 * @throws ServiceError invalidParameters when the page ends at values that are too long for an address
 */
export function nextPageUrl(context: Context, options: EngineOptions, page: NextPage, nonce: string): string {
  const { sort, position, limit, offset } = page;
  const token = formatToken(position, sort, { nonce, offset, key: options.tokenKey });
  if (token.length > maxTokenLength) {
    const names = sort.map(({ field }) => field.name).join(',');
    throw invalidParameters([issueOf('_sort', `the page ends at a value of ${names} that is too long to go on from`)]);
  }
  const kept = context.query.filter(([name]) => !ofFirstPage.has(name));
  const query = [...kept, ['_limit', String(limit)], ['_token', token]]
    .map((pair) => pair.map((text) => encodeURIComponent(text)).join('='))
    .join('&');
  return `${context.request.origin}${options.versionPrefix}${context.path}?${query}`;
}
