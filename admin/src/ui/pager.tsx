// Pages of a list. The address holds the current page, and the entry of the browser's history the way to it. So Back, reload
// and links lead to the same page.
import type { JSX } from 'preact';
import { fromFirstPage } from '../core/list-query.ts';
import { navigate } from '../core/router.ts';
import { formatCount } from '../core/format.ts';
import { Button } from './parts.tsx';

/** Parameters of the address that say which page is shown. */
export const pageParameters = ['_page', '_token'];

export interface PageState {
  /** Number of the page, from 1. */
  readonly number: number;
  /** Query of the page as the service returned it; `''` is the first. */
  readonly pageQuery: string;
}

/** Returns the page that the address names, for a list with these parameters. */
export function pageOf(address: URLSearchParams, query: URLSearchParams): PageState {
  const token = address.get('_token');
  if (token === null || token === '') return { number: 1, pageQuery: '' };
  const next = new URLSearchParams(query);
  next.set('_token', token);
  const number = Number(address.get('_page'));
  return { number: Number.isSafeInteger(number) && number > 1 ? number : 2, pageQuery: next.toString() };
}

/** Returns the address of the first page; `undefined` on it. */
export function firstPageOf(
  { pageQuery }: PageState,
  address: URLSearchParams,
  hrefOf: (address: URLSearchParams) => string,
): string | undefined {
  return pageQuery === '' ? undefined : hrefOf(fromFirstPage(address));
}

export interface PagerProps {
  readonly page: PageState;
  readonly pageSize: number;
  readonly shown: number;
  readonly total: number | undefined;
  /** Query of the next page. */
  readonly next: string | undefined;
  readonly address: URLSearchParams;
  readonly hrefOf: (address: URLSearchParams) => string;
}

/** Previous, position, next. Nothing for a list of one page. */
export function Pager({ page, pageSize, shown, total, next, address, hrefOf }: PagerProps): JSX.Element | null {
  if (page.number === 1 && next === undefined) return null;
  const trail = readTrail();
  const go = (number: number, token: string | null, state: unknown): void => {
    const to = new URLSearchParams(address);
    for (const name of pageParameters) to.delete(name);
    if (token !== null && number > 1) {
      to.set('_page', String(number));
      to.set('_token', token);
    }
    navigate(hrefOf(to), { state });
  };
  const current = address.get('_token') ?? '';
  // A link to a later page has no way back; then the first page is the only one known before.
  const isKnown = trail.length >= page.number - 1;
  const previous = isKnown && page.number > 2 ? (trail[page.number - 2] ?? null) : null;
  // A service with smaller pages than those that were requested: the positions are unknown.
  const first = (page.number - 1) * pageSize + 1;
  return (
    <nav class="pages" aria-label="Pages">
      <Button
        disabled={page.number === 1}
        onClick={() =>
          go(isKnown ? page.number - 1 : 1, previous, { trail: trail.slice(0, Math.max(page.number - 2, 0)) })
        }
      >
        {isKnown || page.number === 1 ? 'Previous' : 'First page'}
      </Button>
      <span>Page {page.number}</span>
      <Button
        disabled={next === undefined}
        onClick={() =>
          go(page.number + 1, new URLSearchParams(next).get('_token'), {
            trail: [...trail.slice(0, page.number - 1), current],
          })
        }
      >
        Next
      </Button>
      {shown === 0 || (next !== undefined && shown !== pageSize) ? null : (
        <span class="quiet">
          {formatCount(first)}–{formatCount(first + shown - 1)}
          {total === undefined ? '' : ` of ${formatCount(total)}`}
        </span>
      )}
    </nav>
  );
}

/** Tokens of the pages before the current one; the first is `''`. */
function readTrail(): readonly string[] {
  const state = history.state as { readonly trail?: unknown } | null;
  const trail = state?.trail;
  return Array.isArray(trail) && trail.every((token) => typeof token === 'string') ? trail : [];
}
