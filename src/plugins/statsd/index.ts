// Plugin `statsd`: sends metrics to StatsD over UDP. Requests do not wait for it, and an absent server has no effect.
import { metricsObserver } from '../../observability/metrics/metrics-observer.ts';
import { metricsOptions } from '../../observability/metrics/settings.ts';
import { definePlugin, type PluginHost, type PluginParts } from '../../http/plugin.ts';
import type { Settings } from '../../settings/settings.ts';
import { softwareName } from '../../settings/version.ts';
import { Datagrams } from './datagrams.ts';
import { statsdSettings } from './settings.ts';
import { StatsdSink } from './statsd-sink.ts';

const defaultPort = '8125';
const gaugeIntervalMs = 10_000;

export const statsd = definePlugin({
  name: 'statsd',
  settings: statsdSettings,
  observes: true,
  setup: setUp,
});

function setUp({ settings, stores, logger }: PluginHost): PluginParts {
  if (settings.get('includes').includes('prometheus')) {
    throw new Error('includes contains both prometheus and statsd. Remove one of them.');
  }
  const url = settings.read(statsdSettings).statsd_url;
  if (url === undefined) throw new Error('statsd_url must be set to udp://host:port.');
  const { hostname, port } = new URL(url);
  const datagrams = new Datagrams(hostname.replaceAll(/[[\]]/g, ''), Number(port || defaultPort), logger);
  const sink = new StatsdSink(prefixOf(settings), (line) => datagrams.send(line));
  const databases = [...new Set([stores.storage.database, stores.permission.database])];
  const sendGauges = (): void => {
    for (const { name: database, poolState } of databases) {
      if (poolState === undefined) continue;
      const { open, idle, waiting, limit } = poolState();
      sink.gauge('backend_pool_connections', { database, state: 'idle' }, idle);
      sink.gauge('backend_pool_connections', { database, state: 'busy' }, open - idle);
      sink.gauge('backend_pool_waiting', { database }, waiting);
      sink.gauge('backend_pool_limit', { database }, limit);
    }
  };
  const timer = setInterval(sendGauges, gaugeIntervalMs).unref();
  return {
    observer: metricsObserver(sink, metricsOptions(settings)),
    async stop() {
      clearInterval(timer);
      sendGauges();
      await datagrams.close();
    },
  };
}

/** Returns the prefix: the project name if changed, as in existing deployments, otherwise statsd_prefix. */
function prefixOf(settings: Settings): string {
  const project = settings.get('project_name');
  const prefix =
    project === softwareName ? (settings.read(statsdSettings).statsd_prefix ?? project.toLowerCase()) : project;
  return prefix.replaceAll(/[^\w.-]/g, '_').replace(/\.+$/, '');
}
