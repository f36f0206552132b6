// Pages of lists: the address of the next one.
import { randomUUID } from 'node:crypto';
import type { PagePosition, SortKey } from '../core/query/ast.ts';
import { formatToken, noncePrefix } from '../core/query/page-token.ts';
import type { Context } from './context.ts';
import type { EngineOptions } from './scope.ts';

export interface NextPage {
  readonly sort: readonly SortKey[];
  readonly position: PagePosition;
  readonly limit: number;
  /** Objects shown so far, informative only. */
  readonly offset: number;
}

/** A new nonce, by which the page after a deletion is asked for once. */
export function newNonce(): string {
  return noncePrefix + randomUUID();
}

/** The absolute address of the next page: the same request with another `_limit` and `_token`. */
export function nextPageUrl(context: Context, options: EngineOptions, page: NextPage, nonce: string): string {
  const { sort, position, limit, offset } = page;
  const token = formatToken(position, sort, { nonce, offset, key: options.tokenKey });
  const kept = context.query.filter(([name]) => name !== '_limit' && name !== '_token');
  const query = [...kept, ['_limit', String(limit)], ['_token', token]]
    .map((pair) => pair.map((text) => encodeURIComponent(text)).join('='))
    .join('&');
  return `${context.request.origin}${options.versionPrefix}${context.path}?${query}`;
}
