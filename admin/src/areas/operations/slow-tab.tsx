// The slowest requests of the last hour, slowest first.
import type { JSX } from 'preact';
import { formatExactTimestamp } from '../../core/format.ts';
import { useApp } from '../../ui/app-context.ts';
import { Empty, Loading, Principal } from '../../ui/parts.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { formatMilliseconds, formatTime } from './figures.ts';
import { Freshness } from './freshness.tsx';
import { useFresh } from './use-fresh.ts';

interface SlowRequest {
  /** End of the request, in milliseconds since the epoch. */
  readonly time: number;
  readonly milliseconds: number;
  readonly method: string;
  readonly status: number;
  readonly route: string | null;
  readonly path: string;
  readonly query: string;
  readonly user_id: string | null;
  readonly request_id: string;
  /** Number of requests in a batch. */
  readonly batch_entries: number | null;
  readonly plan: string | null;
}

const columns: readonly Column<SlowRequest>[] = [
  { key: 'duration', label: 'duration', width: 90, cell: ({ milliseconds }) => formatMilliseconds(milliseconds) },
  { key: 'request', label: 'request', width: 400, cell: Request },
  { key: 'status', label: 'status', width: 70, cell: ({ status }) => status },
  {
    key: 'time',
    label: 'when',
    width: 90,
    cell: ({ time }) => <time title={formatExactTimestamp(String(time))}>{formatTime(time)}</time>,
  },
  {
    key: 'user',
    label: 'user',
    width: 170,
    cell: ({ user_id: id }) => (id === null ? <span class="quiet">anonymous</span> : <Principal id={id} />),
  },
];

/** Only for requests that asked for it, with `_explain`. */
const planColumn: Column<SlowRequest> = {
  key: 'plan',
  label: 'query plan',
  width: 220,
  cell: ({ plan }) => (plan === null ? <span class="quiet">—</span> : <code title={plan}>{plan}</code>),
};

export function SlowTab(): JSX.Element {
  const { api } = useApp();
  const fresh = useFresh(async (signal) => {
    const { text } = await api.request('GET', 'operations/slow', { signal });
    return (JSON.parse(text) as { readonly data: readonly SlowRequest[] }).data;
  }, 'slow');
  // Files of the console say nothing about the data.
  const rows = fresh.value?.filter(({ path }) => !/^(?:\/v\d+)?\/admin\//.test(path));
  return (
    <>
      <Freshness fresh={fresh} />
      <p class="hint">
        The slowest requests of the last hour. A slow query may need an index: with the parameter <code>_explain</code>,
        the service reports its plan.
      </p>
      {rows === undefined ? (
        fresh.error === undefined ? (
          <Loading />
        ) : null
      ) : rows.length === 0 ? (
        <Empty>No requests in the last hour.</Empty>
      ) : (
        <Table
          caption="slow requests"
          columns={rows.some(({ plan }) => plan !== null) ? [...columns, planColumn] : columns}
          rows={rows}
          idOf={({ request_id: id, time }) => `${id} ${time}`}
        />
      )}
    </>
  );
}

function Request({ method, path, query, route, batch_entries: entries }: SlowRequest): JSX.Element {
  const target = query === '' ? path : `${path}?${query}`;
  return (
    <span title={`${method} ${target}\n${route ?? ''}`}>
      <code>
        <b>{method}</b> {target}
      </code>
      {entries === null ? null : <span class="quiet"> with {entries} requests</span>}
    </span>
  );
}
