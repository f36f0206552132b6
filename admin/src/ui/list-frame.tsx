// What all lists share: the page that the address names, the filter, the total, actions, failures, and the pager around a
// table.
import type { ComponentChildren, JSX } from 'preact';
import { formatCount } from '../core/format.ts';
import { listParameters, sortedBy, sortOf } from '../core/list-query.ts';
import { FilterBar } from './filter-bar.tsx';
import { useList, type LiveList } from './hooks.ts';
import { isRefusedList, ListFailure } from './list-failure.tsx';
import { firstPageOf, pageOf, Pager, type PageState } from './pager.tsx';
import { Empty, Loading } from './parts.tsx';
import type { Column } from './table.tsx';

const pageSize = 50;

export interface PagedListOptions {
  /** Address of the list below the API. */
  readonly path: string;
  /** Parameters of the address of the view. */
  readonly query: URLSearchParams;
  readonly hrefOf: (query: URLSearchParams) => string;
  /** The order without `_sort`; by default that of the service. */
  readonly defaultSort?: string;
}

export interface PagedList extends PagedListOptions, LiveList {
  /** Parameters of the list itself. */
  readonly parameters: URLSearchParams;
  readonly state: PageState;
  /** Members of a column that the list is sorted by. */
  readonly sortable: (key: string) => Pick<Column<unknown>, 'sortHref' | 'sort'>;
}

/** Loads the page of a list that the address names, and again after changes by others. */
export function usePagedList(options: PagedListOptions): PagedList {
  const { path, query, hrefOf, defaultSort } = options;
  const parameters = listParameters(query);
  parameters.set('_limit', String(pageSize));
  if (defaultSort !== undefined && !parameters.has('_sort')) parameters.set('_sort', defaultSort);
  const state = pageOf(query, parameters);
  const list = useList({ path, query: parameters, pageQuery: state.pageQuery });
  return {
    ...options,
    ...list,
    parameters,
    state,
    sortable: (key) => ({ sortHref: hrefOf(sortedBy(query, key)), sort: sortOf(parameters, key) }),
  };
}

export interface ListFrameProps {
  readonly list: PagedList;
  /** What the list holds. */
  readonly noun: { readonly name: string; readonly plural: string };
  readonly label?: string;
  /** Fields for the filter to choose from. */
  readonly fields: readonly string[];
  /** Buttons; not shown where the service refuses the list. */
  readonly actions: ComponentChildren;
  readonly above?: ComponentChildren;
  readonly notes?: ComponentChildren;
  /** Why the parent cannot be read. */
  readonly failure?: unknown;
  /** Explanation for a refused list; default: the message of the service. */
  readonly refused?: ComponentChildren;
  /** What an empty list says. */
  readonly empty: ComponentChildren;
  /** The table. */
  readonly children: ComponentChildren;
}

export function ListFrame(props: ListFrameProps): JSX.Element {
  const { list, noun, label, fields, actions, above, notes, failure, refused, empty, children } = props;
  const { path, query, hrefOf, state, page, total, error, isLoading } = list;
  const shown = page?.rows.length ?? 0;
  const isRefused = isRefusedList(error);
  if (isRefused && refused !== undefined) return <>{refused}</>;
  return (
    <section class="list" aria-label={label} aria-busy={isLoading}>
      {above}
      <div class="toolbar">
        <FilterBar query={query} fields={fields} path={path} hrefOf={hrefOf} />
        <span class="total">
          {total === undefined ? '' : `${formatCount(total)} ${total === 1 ? noun.name : noun.plural}`}
        </span>
        {isRefused ? null : actions}
      </div>
      {notes}
      <ListFailure error={error} known={failure} onRetry={list.refresh} firstHref={firstPageOf(state, query, hrefOf)} />
      {page === undefined ? isLoading ? <Loading /> : null : shown === 0 ? <Empty>{empty}</Empty> : children}
      <Pager
        page={state}
        pageSize={pageSize}
        shown={shown}
        total={total}
        next={page?.next}
        address={query}
        hrefOf={hrefOf}
      />
    </section>
  );
}
