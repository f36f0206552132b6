// The time line of an object and its contents: the entries of the plugin `history`, newest first, with filters. New
// entries appear as they are made.
import type { JSX } from 'preact';
import { hashOf, pathOf } from '../../core/places.ts';
import { announceTreeChange, useApp } from '../../ui/app-context.ts';
import { useList } from '../../ui/hooks.ts';
import { ListFailure } from '../../ui/list-failure.tsx';
import { firstPageOf, pageOf, Pager } from '../../ui/pager.tsx';
import { Empty, Loading } from '../../ui/parts.tsx';
import { say } from '../../ui/toast.tsx';
import type { TabProps } from '../area.ts';
import { filterNames, historyPathOf, historyQuery, readEntry } from './entries.ts';
import { EntryItem } from './entry-item.tsx';
import { HistoryFilter } from './filter-form.tsx';

const pageSize = 20;

export function HistoryTab({ place, query, reload: reloadObject }: TabProps): JSX.Element {
  const { service } = useApp();
  const path = historyPathOf(place);
  // Entries name the bucket by its own id.
  const within = `/${pathOf(place)}`.replace(
    /^\/buckets\/default(?=\/|$)/,
    `/buckets/${service.personalBucket ?? 'default'}`,
  );
  const parameters = historyQuery(place, query);
  parameters.set('_limit', String(pageSize));
  const page = pageOf(query, parameters);
  const list = { path, query: parameters, pageQuery: page.pageQuery, isCounted: false };
  const { page: value, error, refresh } = useList(list);
  const finish = (message: string): void => {
    announceTreeChange();
    reloadObject();
    refresh();
    say(message);
  };
  const userHref = (user: string): string => hashOf(place, { _tab: 'history', _user: user });
  return (
    <>
      <HistoryFilter query={query} hrefOf={(next) => hashOf(place, next)} />
      <ListFailure
        error={error}
        known={undefined}
        onRetry={refresh}
        firstHref={firstPageOf(page, query, (next) => hashOf(place, next))}
      />
      {value === undefined ? (
        error === undefined ? (
          <Loading />
        ) : null
      ) : value.rows.length === 0 ? (
        <Empty>
          {filterNames.some((name) => query.has(name)) ? 'No changes match these filters.' : 'No changes are recorded.'}
        </Empty>
      ) : (
        <ol class="history">
          {value.rows.map(readEntry).map((entry) => (
            <EntryItem key={entry.id} entry={entry} within={within} userHref={userHref} onDone={finish} />
          ))}
        </ol>
      )}
      {value === undefined ? null : (
        <Pager
          page={page}
          pageSize={pageSize}
          shown={value.rows.length}
          total={undefined}
          next={value.next}
          address={query}
          hrefOf={(next) => hashOf(place, next)}
        />
      )}
    </>
  );
}
