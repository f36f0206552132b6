// The state of the service at a glance: health, the figures of now, and charts over an hour or a day.
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { formatCount, formatSize } from '../../core/format.ts';
import { pageHashOf } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { Loading, Moment } from '../../ui/parts.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import type { PageProps } from '../area.ts';
import { Chart } from './chart.tsx';
import { formatMilliseconds, formatRate, formatSpan } from './figures.ts';
import { Freshness } from './freshness.tsx';
import { chartsOf, currentRate, readOverview, type Overview, type Process } from './overview.ts';
import { useFresh } from './use-fresh.ts';

export function OverviewTab({ query }: PageProps): JSX.Element {
  const { api } = useApp();
  const fresh = useFresh(
    async (signal) => readOverview((await api.request('GET', 'operations/overview', { signal })).text),
    'overview',
  );
  return (
    <>
      <Freshness fresh={fresh} />
      {fresh.value === undefined ? (
        fresh.error === undefined ? (
          <Loading />
        ) : null
      ) : (
        <OverviewOf overview={fresh.value} isDay={query.get('_window') === 'day'} />
      )}
    </>
  );
}

function OverviewOf({ overview, isDay }: { readonly overview: Overview; readonly isDay: boolean }): JSX.Element {
  const charts = useMemo(() => chartsOf(overview, isDay), [overview, isDay]);
  return (
    <>
      <Health health={overview.health} />
      <Figures overview={overview} />
      <nav class="switch" aria-label="Time of the charts">
        <a
          class="button small"
          href={pageHashOf('operations', { _tab: 'overview' })}
          aria-current={isDay ? undefined : 'true'}
        >
          Last hour
        </a>
        <a
          class="button small"
          href={pageHashOf('operations', { _tab: 'overview', _window: 'day' })}
          aria-current={isDay ? 'true' : undefined}
        >
          Last day
        </a>
      </nav>
      {charts.length === 0 ? (
        <p class="quiet">The first figures of this time appear when its first step ends.</p>
      ) : (
        <div class="charts">
          {charts.map((chart) => (
            <Chart key={chart.title} {...chart} />
          ))}
        </div>
      )}
      {overview.collections.is_complete ? null : (
        <p class="hint">
          The service has so many collections that it reads only a part of them. Others may be larger than those above.
        </p>
      )}
      <Processes processes={overview.processes} />
    </>
  );
}

/** Says which parts work, and which do not. */
function Health({ health }: Pick<Overview, 'health'>): JSX.Element {
  const parts = Object.entries(health);
  const failing = parts.filter(([, isHealthy]) => !isHealthy).map(([name]) => name);
  return (
    <section aria-label="Health">
      {failing.length === 0 ? null : (
        <p class="note bad" role="alert">
          Not working: {failing.join(', ')}. The <a href={pageHashOf('operations', { _tab: 'log' })}>log</a> has the
          reasons.
        </p>
      )}
      <ul class="health">
        {parts.map(([name, isHealthy]) => (
          <li key={name} class={isHealthy ? 'badge good' : 'badge bad'}>
            <span aria-hidden="true">{isHealthy ? '✓' : '✕'}</span> {name} {isHealthy ? 'works' : 'fails'}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Figures({ overview }: { readonly overview: Overview }): JSX.Element {
  const { service, processes, latency, event_loop_delay: delay, live, storage } = overview;
  const memory = processes.reduce((sum, { rss_bytes: bytes }) => sum + bytes, 0);
  const figures: readonly (readonly [label: string, value: string])[] = [
    ['requests', show(currentRate(overview), formatRate)],
    ['latency (p99)', show(latency.p99_ms, formatMilliseconds)],
    ['event-loop delay (longest)', show(delay.max_ms, formatMilliseconds)],
    ['live streams', formatCount(live.streams + live.polls)],
    ['memory', formatSize(memory)],
    ['storage', show(storage.size_bytes, formatSize)],
    ['collections', show(storage.collections, formatCount)],
    ['records', show(storage.records, formatCount)],
  ];
  return (
    <section aria-label="Figures">
      <dl class="figures">
        {figures.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p class="facts">
        Version {service.version} on Node.js {service.node.replace(/^v/, '')} with {storage.engine}, started{' '}
        <Moment text={String(service.started)} /> ({formatSpan(service.uptime_seconds)} ago),{' '}
        {formatCount(overview.requests.total)} requests since.
      </p>
    </section>
  );
}

const processColumns: readonly Column<Process>[] = [
  {
    key: 'pid',
    label: 'process',
    width: 160,
    cell: ({ pid, worker }) => (worker === null ? String(pid) : `${pid} (worker ${worker})`),
  },
  { key: 'started', label: 'started', width: 180, cell: ({ started }) => <Moment text={String(started)} /> },
  { key: 'rss', label: 'resident memory', width: 140, cell: ({ rss_bytes: bytes }) => formatSize(bytes) },
  { key: 'heap', label: 'heap in use', width: 120, cell: ({ heap_used_bytes: bytes }) => formatSize(bytes) },
  { key: 'total', label: 'heap', width: 120, cell: ({ heap_total_bytes: bytes }) => formatSize(bytes) },
];

function Processes({ processes }: Pick<Overview, 'processes'>): JSX.Element {
  return (
    <section class="panel" aria-label="Processes">
      <h2>Processes</h2>
      <Table caption="processes" columns={processColumns} rows={processes} idOf={({ pid }) => String(pid)} />
    </section>
  );
}

function show(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '—' : format(value);
}
