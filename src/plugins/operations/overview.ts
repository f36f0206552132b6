// `GET /operations/overview`: current figures of all processes and of the stores, and their series.
import type { JsonObject } from '../../base/json.ts';
import type { Context } from '../../engine/context.ts';
import { describeDocument, objectWith } from '../../engine/description.ts';
import { forReading, type Endpoint } from '../../engine/endpoint.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';
import { readPlainParameters } from '../../engine/plain-parameters.ts';
import type { OperatedService, PluginHost } from '../../http/plugin.ts';
import { ringNames, ringSizes, statusClasses, type ProcessReport } from './figures.ts';
import { formatSeries, sumSteps } from './series.ts';
import type { StoreFigures, StoreState } from './store-figures.ts';

export interface OverviewOptions {
  readonly host: PluginHost;
  readonly stores: StoreFigures;
  readonly checkHealth: OperatedService['checkHealth'];
  /** Returns the figures of all processes. */
  readonly askProcesses: () => Promise<readonly ProcessReport[]>;
}

/** Time for which the result of the checks of health is used again. */
const healthMs = 10_000;
const minuteMs = 60_000;

/** Returns the endpoint, without a check of access. */
export function overviewEndpoint(options: OverviewOptions): Endpoint {
  const { host, stores, askProcesses } = options;
  const readHealth = cacheHealth(options);
  const handle = async (context: Context): Promise<ServiceResponse> => {
    readPlainParameters(context, {});
    const [processes, health, state] = await Promise.all([askProcesses(), readHealth(context), stores.read()]);
    const { settings, clock } = host;
    const now = clock.now();
    const started = Math.min(...processes.map((each) => each.started));
    const data: JsonObject = {
      service: {
        name: settings.get('project_name'),
        version: settings.get('project_version'),
        node: process.version,
        started,
        uptime_seconds: Math.round((now - started) / 1000),
      },
      processes: processes.map(formatProcess),
      requests: formatRequests(processes, started),
      ...formatMinute(processes, now),
      live: {
        streams: processes.reduce((sum, { live }) => sum + live.streams, 0),
        polls: processes.reduce((sum, { live }) => sum + live.polls, 0),
      },
      health,
      storage: formatStorage(host.stores.storage.database.name, state),
      collections: {
        is_complete: state?.isComplete ?? false,
        largest: (state?.largest ?? []).map(({ uri, records }) => ({ uri, records })),
      },
      series: Object.fromEntries(ringNames.map((name) => [name, formatSeries(name, processes, stores)])),
    };
    return jsonResponse(200, { data });
  };
  const describe = (): ReturnType<typeof describeDocument> =>
    describeDocument('Returns figures about the service: now, in the last hour, and in the last day.', 'The figures.', {
      data: objectWith(Object.fromEntries(members.map((name) => [name, { type: 'object' }]))),
    });
  return {
    name: 'operations-overview',
    tag: 'operations',
    path: '/operations/overview',
    isResource: false,
    operations: forReading('get_overview', { handle, describe }),
  };
}

const members = [
  'service',
  'requests',
  'latency',
  'event_loop_delay',
  'live',
  'health',
  'storage',
  'collections',
  'series',
];

type Health = Readonly<Record<string, boolean>>;

/** Returns a function that checks the health, not more often than once in a while: the checks write to the backends. */
function cacheHealth({ host, checkHealth }: OverviewOptions): (context: Context) => Promise<Health> {
  let known: { readonly until: number; readonly health: Health } | undefined;
  let running: Promise<Health> | undefined;
  const check = async ({ unit }: Context): Promise<Health> => {
    const { isWriting, reader } = unit;
    const health = await checkHealth({ isWriting, reader });
    known = { until: host.clock.now() + healthMs, health };
    return health;
  };
  return (context) => {
    if (known !== undefined && host.clock.now() < known.until) return Promise.resolve(known.health);
    // The checks of a batch that holds the lock of a writer differ from those of others.
    if (context.unit.isWriting) return check(context);
    running ??= check(context).finally(() => {
      running = undefined;
    });
    return running;
  };
}

function formatProcess({ pid, worker, started, memory }: ProcessReport): JsonObject {
  return {
    pid,
    worker,
    started,
    rss_bytes: memory.rss,
    heap_used_bytes: memory.heapUsed,
    heap_total_bytes: memory.heapTotal,
  };
}

function formatRequests(processes: readonly ProcessReport[], since: number): JsonObject {
  const counts = statusClasses.map((_, place) =>
    processes.reduce((sum, { classes }) => sum + (classes[place] ?? 0), 0),
  );
  return {
    since,
    total: counts.reduce((sum, count) => sum + count, 0),
    ...Object.fromEntries(statusClasses.map((name, place) => [name, counts[place]!])),
  };
}

function formatMinute(processes: readonly ProcessReport[], now: number): JsonObject {
  const { stepMs } = ringSizes.hour;
  const steps = processes.flatMap(({ rings }) => rings.hour.filter(({ index }) => index * stepMs > now - minuteMs));
  const { durations, loopMeanMs, loopMaxMs } = sumSteps(steps);
  return {
    latency: {
      p50_ms: durations.percentile(0.5),
      p99_ms: durations.percentile(0.99),
      max_ms: durations.maxMs,
    },
    event_loop_delay: { mean_ms: loopMeanMs, max_ms: loopMaxMs },
  };
}

function formatStorage(engine: string, state: StoreState | undefined): JsonObject {
  const count = (kind: string): number | null => (state === undefined ? null : (state.objects.get(kind) ?? 0));
  return {
    engine,
    measured: state?.measured ?? null,
    size_bytes: state?.sizeBytes ?? null,
    buckets: count('bucket'),
    groups: count('group'),
    collections: count('collection'),
    records: count('record'),
  };
}
