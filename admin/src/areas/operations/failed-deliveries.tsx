// Failed deliveries of a webhook: each or all of them are sent again, or deleted.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Api } from '../../core/api.ts';
import { formatCount, formatExactTimestamp } from '../../core/format.ts';
import { loadPage } from '../../core/objects.ts';
import { pageHashOf } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { ask, askForWord } from '../../ui/dialog.tsx';
import { useAttempt } from '../../ui/hooks.ts';
import { pageOf, Pager } from '../../ui/pager.tsx';
import { Button, Empty, Loading, Progress } from '../../ui/parts.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { say } from '../../ui/toast.tsx';
import { formatTime } from './figures.ts';
import { displayPath } from './paths.ts';
import { Refusal } from './refusal.tsx';
import { useFresh } from './use-fresh.ts';

interface Failure {
  readonly id: string;
  readonly created: number;
  readonly attempts: number;
  readonly reason: string | null;
  /** `null` if it cannot be read. */
  readonly event: { readonly action?: string; readonly resource_name?: string; readonly uri?: string } | null;
}

export interface FailedDeliveriesProps {
  readonly webhook: string;
  /** Number of failed deliveries, as last counted. */
  readonly failed: number;
  readonly query: URLSearchParams;
  /** Counts them again. */
  readonly onChange: () => void;
}

const pageSize = 50;
/** Maximum number of requests for all deliveries; each request moves up to 1000. */
const requestLimit = 200;

export function FailedDeliveries({ webhook, failed, query, onChange }: FailedDeliveriesProps): JSX.Element {
  const { api } = useApp();
  const path = `operations/webhooks/${encodeURIComponent(webhook)}`;
  const parameters = new URLSearchParams({ _limit: String(pageSize) });
  const page = pageOf(query, parameters);
  const wanted = page.pageQuery === '' ? parameters.toString() : page.pageQuery;
  const { value, error, reload } = useFresh(async (signal) => {
    const { rows, next } = await loadPage(api, `${path}/failures`, wanted, signal);
    return { rows: rows.map((row) => JSON.parse(row) as Failure), next };
  }, `${path}?${wanted}`);
  const { error: refusal, attempt } = useAttempt();
  const [done, setDone] = useState<number | undefined>(undefined);

  /** Runs an action that returns the number of deliveries, and reports it. */
  const act = (run: () => Promise<number>, report: (count: string) => string): Promise<void> =>
    attempt(async () => {
      try {
        const count = await run();
        say(report(count === 1 ? '1 delivery' : `${formatCount(count)} deliveries`));
      } finally {
        setDone(undefined);
        reload();
        onChange();
      }
    });
  const sent = (count: string): string => `${count} of ${webhook} will be sent again.`;
  const deleted = (count: string): string => `${count} of ${webhook} deleted.`;

  const retryAll = async (): Promise<void> => {
    const text = 'They are appended to the queue in the order in which they failed, and get all attempts anew.';
    const title = `Send all failed deliveries of ${webhook} again?`;
    if (await ask({ title, text, yes: 'Send again', no: 'Cancel' }))
      await act(() => repeat(api, 'POST', `${path}/retry`, setDone), sent);
  };
  const deleteAll = async (): Promise<void> => {
    const text = 'The receiver will never get these events.';
    const title = `Delete all failed deliveries of ${webhook}?`;
    if (await askForWord({ title, text, yes: 'Delete all', word: webhook }))
      await act(() => repeat(api, 'DELETE', `${path}/failures`, setDone), deleted);
  };
  const retry = async (failure: Failure): Promise<void> => {
    const text = 'It is appended to the queue, and gets all attempts anew.';
    if (await ask({ title: `Send “${nameOf(failure)}” again?`, text, yes: 'Send again', no: 'Cancel' }))
      await act(() => move(api, 'POST', `${pathOf(path, failure)}/retry`).then(({ count }) => count), sent);
  };
  const remove = async (failure: Failure): Promise<void> => {
    const text = 'The receiver will never get this event.';
    if (await ask({ title: `Delete “${nameOf(failure)}”?`, text, yes: 'Delete', no: 'Keep it' }))
      await act(() => move(api, 'DELETE', pathOf(path, failure)).then(({ count }) => count), deleted);
  };

  const columns: readonly Column<Failure>[] = [
    {
      key: 'event',
      label: 'event',
      width: 245,
      cell: (failure) => <span title={failure.event?.uri}>{nameOf(failure)}</span>,
    },
    {
      key: 'actions',
      label: 'actions',
      width: 195,
      cell: (failure) => (
        <span class="actions row-actions">
          <Button class="small" label={`Send again: ${nameOf(failure)}`} onClick={() => retry(failure)}>
            Send again
          </Button>
          <Button class="small danger" label={`Delete: ${nameOf(failure)}`} onClick={() => remove(failure)}>
            Delete
          </Button>
        </span>
      ),
    },
    {
      key: 'reason',
      label: 'reason of the last attempt',
      width: 205,
      cell: ({ reason }) => <span title={reason ?? ''}>{reason ?? '—'}</span>,
    },
    {
      key: 'created',
      label: 'created',
      width: 105,
      cell: ({ created }) => <time title={formatExactTimestamp(String(created))}>{formatTime(created)}</time>,
    },
    { key: 'attempts', label: 'attempts', width: 90, cell: ({ attempts }) => attempts },
  ];

  return (
    <section class="panel" aria-label={`Failed deliveries of ${webhook}`}>
      <h2>Failed deliveries of {webhook}</h2>
      {value !== undefined && value.rows.length > 0 ? (
        <div class="actions toolbar">
          <Button onClick={retryAll}>Send all again</Button>
          <Button class="danger" onClick={deleteAll}>
            Delete all
          </Button>
        </div>
      ) : null}
      {done === undefined ? null : <Progress label="Deliveries" done={done} total={Math.max(failed, done)} />}
      <Refusal error={refusal} setting="operations_write_principals" />
      <Refusal error={error} onRetry={reload} />
      {value === undefined ? (
        error === undefined ? (
          <Loading />
        ) : null
      ) : value.rows.length === 0 ? (
        <Empty>{value.next === undefined ? 'No delivery has failed.' : 'This page is empty. Go to the next.'}</Empty>
      ) : (
        <Table caption={`failed deliveries of ${webhook}`} columns={columns} rows={value.rows} idOf={({ id }) => id} />
      )}
      {value === undefined ? null : (
        <Pager
          page={page}
          pageSize={pageSize}
          shown={value.rows.length}
          total={undefined}
          next={value.next}
          address={query}
          hrefOf={(next) => pageHashOf('operations', next)}
        />
      )}
    </section>
  );
}

interface Moved {
  readonly count: number;
  readonly more: boolean;
}

async function move(api: Api, method: 'POST' | 'DELETE', path: string): Promise<Moved> {
  const { text } = await api.request(method, path);
  return (JSON.parse(text) as { readonly data: Moved }).data;
}

/** Repeats a request until no failures remain; returns the number of deliveries. */
async function repeat(
  api: Api,
  method: 'POST' | 'DELETE',
  path: string,
  onProgress: (done: number) => void,
): Promise<number> {
  let done = 0;
  for (let turn = 0; turn < requestLimit; turn += 1) {
    const { count, more } = await move(api, method, path);
    done += count;
    if (!more || count === 0) break;
    onProgress(done);
  }
  return done;
}

function pathOf(webhook: string, { id }: Failure): string {
  return `${webhook}/failures/${encodeURIComponent(id)}`;
}

function nameOf({ event, id }: Failure): string {
  return event?.uri === undefined ? id : `${event.action ?? 'event'} ${displayPath(event.uri)}`;
}
