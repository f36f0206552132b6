// The page of the changes in all buckets, with the filters of a history: what a user has changed, and when.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { poll } from '../../core/live.ts';
import { pageHashOf } from '../../core/places.ts';
import { announceTreeChange, useApp } from '../../ui/app-context.ts';
import { useLoad } from '../../ui/hooks.ts';
import { Button, Empty, FailureNote, Loading } from '../../ui/parts.tsx';
import { say } from '../../ui/toast.tsx';
import type { PageProps } from '../area.ts';
import { bucketLimit, loadAllChanges, type AllChanges } from './all-buckets.ts';
import { everywhere } from './entries.ts';
import { EntryItem } from './entry-item.tsx';
import { HistoryFilter } from './filter-form.tsx';

/** Pause between two looks: each of them reads the histories of many buckets. */
const pollMilliseconds = 60_000;

const hrefOf = (query: URLSearchParams | Readonly<Record<string, string>>): string => pageHashOf('history', query);

export function AllHistoryPage({ query }: PageProps): JSX.Element {
  const { api, service } = useApp();
  const load = (signal: AbortSignal): Promise<AllChanges> =>
    loadAllChanges(api, { address: query, batchLimit: service.batchLimit, signal });
  const { value, error, reload } = useLoad(load, query.toString());
  const shown = useRef(value);
  shown.current = value;
  useEffect(() => {
    // Earlier changes stay as they are.
    if (query.has('_before')) return;
    const left = new AbortController();
    const { signal } = left;
    const look = async (): Promise<void> => {
      if (shown.current === undefined) return;
      const { entries } = await load(signal);
      if (!signal.aborted && entries[0]?.id !== shown.current.entries[0]?.id) reload();
    };
    poll({ api, signal, say }, look, pollMilliseconds);
    return () => left.abort();
  }, [api, query.toString()]);
  const finish = (message: string): void => {
    announceTreeChange();
    reload();
    say(message);
  };
  return (
    <>
      <header class="page-head">
        <h1 tabIndex={-1}>History of all buckets</h1>
      </header>
      <HistoryFilter query={query} hrefOf={hrefOf} />
      <FailureNote error={error} onRetry={reload} />
      {value === undefined ? (
        error === undefined ? (
          <Loading />
        ) : null
      ) : (
        <>
          {value.entries.length === 0 ? <Empty>No changes match.</Empty> : null}
          <ol class="history">
            {value.entries.map((entry) => (
              <EntryItem
                key={`${entry.uri} ${entry.id}`}
                entry={entry}
                within={everywhere}
                userHref={(user) => hrefOf({ _user: user })}
                onDone={finish}
              />
            ))}
          </ol>
          <div class="actions">
            <Button onClick={reload}>Refresh</Button>
            {query.has('_before') ? <a href={hrefOf(without(query, '_before'))}>Newest changes</a> : null}
            {value.next === undefined ? null : (
              <a href={hrefOf(new URLSearchParams([...without(query, '_before'), ['_before', value.next]]))}>
                Earlier changes
              </a>
            )}
          </div>
          {value.isPartial ? (
            <p class="hint">Only the {bucketLimit} buckets that were changed last are searched.</p>
          ) : null}
        </>
      )}
    </>
  );
}

function without(query: URLSearchParams, name: string): URLSearchParams {
  return new URLSearchParams([...query].filter(([key]) => key !== name));
}
