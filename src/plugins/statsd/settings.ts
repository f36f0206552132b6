// Settings of the plugin `statsd`.
import { metricsSettings } from '../../observability/metrics/settings.ts';
import { inSection, setting } from '../../settings/definition.ts';
import { matching, optional, text } from '../../settings/readers.ts';

export const statsdSettings = {
  ...metricsSettings,
  ...inSection('StatsD', {
    statsd_url: setting(
      optional(matching(/^udp:\/\/(?:[\w.-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?\/?$/, 'udp://host:port')),
      'Address that the plugin statsd sends metrics to.',
      { default: undefined },
    ),
    statsd_prefix: setting(
      optional(text()),
      'Text before the names of metrics that are sent; project_name when that is set.',
      { default: undefined },
    ),
  }),
};
