// The answer of `operations/overview`, and the charts that are drawn from it.
import { formatCount, formatSize } from '../../core/format.ts';
import { displayPath } from './paths.ts';
import type { ChartProps } from './chart.tsx';
import { formatMilliseconds, formatRate } from './figures.ts';

type Values = readonly (number | null)[];

/** Figures over time. All arrays have the length of `time`. */
interface Series {
  readonly step_seconds: number;
  readonly time: readonly number[];
  readonly requests: Readonly<Record<string, readonly number[]>>;
  readonly latency_p50_ms: Values;
  readonly latency_p99_ms: Values;
  readonly event_loop_delay_mean_ms: Values;
  readonly event_loop_delay_max_ms: Values;
  readonly rss_bytes: Values;
  readonly live_streams: Values;
  readonly size_bytes: Values;
  readonly records: Values;
  readonly collections: readonly { readonly uri: string; readonly records: Values }[];
}

export interface Process {
  readonly pid: number;
  readonly worker: number | null;
  readonly started: number;
  readonly rss_bytes: number;
  readonly heap_used_bytes: number;
  readonly heap_total_bytes: number;
}

export interface Overview {
  readonly service: {
    readonly version: string;
    readonly node: string;
    readonly started: number;
    readonly uptime_seconds: number;
  };
  readonly processes: readonly Process[];
  readonly requests: { readonly total: number };
  readonly latency: { readonly p99_ms: number | null };
  readonly event_loop_delay: { readonly max_ms: number | null };
  readonly live: { readonly streams: number; readonly polls: number };
  /** Whether each part works. */
  readonly health: Readonly<Record<string, boolean>>;
  readonly storage: {
    readonly engine: string;
    readonly measured: number | null;
    readonly size_bytes: number | null;
    readonly collections: number | null;
    readonly records: number | null;
  };
  readonly collections: { readonly is_complete: boolean };
  readonly series: { readonly hour: Series; readonly day: Series };
}

export function readOverview(text: string): Overview {
  return (JSON.parse(text) as { readonly data: Overview }).data;
}

/** Returns the number of requests per second in the last complete step; `undefined` before one has ended. */
export function currentRate({ series: { hour } }: Overview): number | undefined {
  if (hour.time.length < 2) return undefined;
  const counts = Object.values(hour.requests).map((values) => values.at(-2) ?? 0);
  return counts.reduce((sum, count) => sum + count, 0) / hour.step_seconds;
}

const statusLabels: Readonly<Record<string, string>> = {
  '2xx': '2xx success',
  '3xx': '3xx unchanged',
  '4xx': '4xx refused',
  '5xx': '5xx failed',
};

/** Returns the charts of the last hour or day. Charts without any value are left out. */
export function chartsOf(overview: Overview, isDay: boolean): readonly ChartProps[] {
  const series = completeSteps(isDay ? overview.series.day : overview.series.hour);
  const { step_seconds: stepSeconds, requests } = series;
  const classes = Object.entries(requests).filter(([name, counts]) => name !== '1xx' || counts.some((n) => n > 0));
  const perSecond = classes.map(([name, counts]) => ({
    label: statusLabels[name] ?? name,
    values: counts.map((count) => count / stepSeconds),
  }));
  const line = (label: string, values: Values): ChartProps['lines'][number] => ({ label, values });
  const charts: readonly Omit<ChartProps, 'times'>[] = [
    { title: 'Requests', unit: 'per second, by status', lines: perSecond, format: formatRate },
    {
      title: 'Latency',
      unit: 'median (p50), and the slowest 1 % (p99)',
      lines: [line('p50', series.latency_p50_ms), line('p99', series.latency_p99_ms)],
      format: formatMilliseconds,
    },
    {
      title: 'Event-loop delay',
      unit: 'how late the processes get to their work',
      lines: [line('mean', series.event_loop_delay_mean_ms), line('longest', series.event_loop_delay_max_ms)],
      format: formatMilliseconds,
    },
    {
      title: 'Live updates',
      unit: 'open streams and long polls',
      lines: [line('open', series.live_streams)],
      format: formatCount,
      isWhole: true,
    },
    { title: 'Memory', unit: 'of all processes', lines: [line('resident', series.rss_bytes)], format: formatSize },
    { title: 'Storage', unit: 'size of the database', lines: [line('size', series.size_bytes)], format: formatSize },
    {
      title: 'Records',
      unit: 'in all collections',
      lines: [line('records', series.records)],
      format: formatCount,
      isWhole: true,
    },
    {
      title: 'Largest collections',
      unit: 'records',
      lines: series.collections.map(({ uri, records }) => line(displayPath(uri), records)),
      format: formatCount,
      isWhole: true,
    },
  ];
  return charts
    .filter(({ lines }) => lines.some(({ values }) => values.some((value) => value !== null)))
    .map((chart) => ({ ...chart, times: series.time }));
}

/** Leaves out the last step, which is not complete, unless it is the only one. */
function completeSteps(series: Series): Series {
  if (series.time.length < 2) return series;
  const cut = <Value>(values: readonly Value[]): readonly Value[] => values.slice(0, -1);
  return {
    ...series,
    time: cut(series.time),
    requests: Object.fromEntries(Object.entries(series.requests).map(([name, counts]) => [name, cut(counts)])),
    latency_p50_ms: cut(series.latency_p50_ms),
    latency_p99_ms: cut(series.latency_p99_ms),
    event_loop_delay_mean_ms: cut(series.event_loop_delay_mean_ms),
    event_loop_delay_max_ms: cut(series.event_loop_delay_max_ms),
    rss_bytes: cut(series.rss_bytes),
    live_streams: cut(series.live_streams),
    size_bytes: cut(series.size_bytes),
    records: cut(series.records),
    collections: series.collections.map(({ uri, records }) => ({ uri, records: cut(records) })),
  };
}
