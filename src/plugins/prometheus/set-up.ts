// Setup of the plugin: registry, observer and endpoint. The endpoint returns the metrics of all workers together.
import cluster from 'node:cluster';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Logger } from '../../contracts/logger.ts';
import type { OperationDescription } from '../../engine/description.ts';
import type { ServiceResponse } from '../../engine/exchange.ts';
import { forReading } from '../../engine/endpoint.ts';
import { metricsObserver } from '../../observability/metrics/metrics-observer.ts';
import { metricsOptions } from '../../observability/metrics/settings.ts';
import { WorkerChannel } from '../../observability/worker-channel.ts';
import type { PluginHost, PluginParts } from '../../http/plugin.ts';
import type { Settings } from '../../settings/settings.ts';
import { addPoolGauges } from './pool-gauges.ts';
import { reuseLong } from './reused-text.ts';
import { prometheusSettings } from './settings.ts';
import { PrometheusSink } from './prometheus-sink.ts';
import { takeSnapshot } from './snapshot.ts';
import { metricsTopic } from './worker-metrics.ts';

/**
 * Default metrics of prom-client that are removed. Those of handles call `process._getActiveHandles`, which is
 * undocumented and has aborted Node.js under load. The others are gauges with the suffix `_total` of counters. They are
 * the sums of `nodejs_active_requests` and `nodejs_active_resources`.
 */
const omittedMetrics: readonly string[] = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** Names that do not contain another metric type. */
const strictNames: ReadonlyMap<string, string> = new Map([['request_summary', 'requests']]);

/** @throws Error when statsd is included as well */
export function setUp({ settings, stores, logger, documentationUrl }: PluginHost): PluginParts {
  if (settings.get('includes').includes('statsd')) {
    throw new Error('includes contains both prometheus and statsd. Remove one of them.');
  }
  const registry = new Registry();
  const prefix = prefixOf(settings);
  const own = settings.read(prometheusSettings);
  const named = own.prometheus_disabled_metrics;
  const renamed = own.prometheus_strict_names ? strictNames : new Map<string, string>();
  const inner = new Map([...renamed].map(([name, shown]) => [shown, name]));
  const bareNames = named.map((name) => bareName(name, prefix));
  const disabled = new Set(bareNames.map((name) => inner.get(name) ?? name));
  const sink = new PrometheusSink({
    registry,
    prefix,
    buckets: own.prometheus_histogram_buckets,
    exposesCreation: own.prometheus_created_metrics_enabled,
    renamed,
    disabled,
  });
  collectDefaultMetrics({ register: registry });
  for (const name of omittedMetrics) registry.removeSingleMetric(name);
  addPoolGauges(registry, prefix, [stores.storage.database, stores.permission.database]);
  for (const name of named) registry.removeSingleMetric(name);
  const workers = cluster.isWorker
    ? new WorkerChannel<null, string>(metricsTopic, () => takeSnapshot(registry))
    : undefined;
  const announce = async (): Promise<void> => workers?.announce(await takeSnapshot(registry));
  const collect = reuseLong(async () => (await workers?.ask(null)) ?? registry.metrics());
  const handle = (): Promise<ServiceResponse> => respond(collect, logger);
  return {
    observer: metricsObserver(sink, metricsOptions(settings)),
    capabilities: {
      prometheus: {
        description: 'GET /__metrics__ returns metrics in the text format of Prometheus.',
        url: documentationUrl('prometheus'),
        prefix,
        disabled_metrics: [...named],
      },
    },
    endpoints: [
      {
        name: 'metrics',
        tag: 'metrics',
        path: '/__metrics__',
        isResource: false,
        ignoresCaller: true,
        isForOperators: true,
        operations: forReading('__metrics__', { handle, describe }),
      },
    ],
    start: announce,
    // The counts of an ended worker remain in the sums.
    stop: async () => {
      await announce();
      workers?.close();
    },
  };
}

function describe(): OperationDescription {
  return {
    summary: 'Returns metrics in the text format of Prometheus.',
    responses: {
      200: { description: 'The metrics.', mediaTypes: ['text/plain'] },
      204: { description: 'The metrics could not be collected.' },
    },
  };
}

async function respond(collect: () => Promise<string>, logger: Logger): Promise<ServiceResponse> {
  try {
    const body = await collect();
    return { status: 200, headers: { 'Content-Type': Registry.PROMETHEUS_CONTENT_TYPE }, body };
  } catch (error) {
    logger.error({ err: error }, 'Metrics could not be collected');
    return { status: 204, headers: {}, body: '' };
  }
}

/** Returns the name prefix: lower-case letters and digits with a trailing underscore, and no digit first. */
function prefixOf(settings: Settings): string {
  const given = settings.read(prometheusSettings).prometheus_prefix ?? settings.get('project_name');
  const bare = given.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  if (bare === '') return '';
  return `${/^\d/.test(bare) ? '_' : ''}${bare}_`;
}

/** Returns the internal name of a metric from its exported name. */
function bareName(name: string, prefix: string): string {
  const bare = name.startsWith(prefix) ? name.slice(prefix.length) : name;
  return bare.replace(/_total$/, '');
}
