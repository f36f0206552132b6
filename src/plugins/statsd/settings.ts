// Settings of the plugin `statsd`.
import { metricsSettings } from '../../observability/metrics/settings.ts';
import { inSection, setting } from '../../settings/definition.ts';
import { matching, optional, text } from '../../settings/readers.ts';

export const statsdSettings = {
  ...metricsSettings,
  ...inSection('StatsD', {
    statsd_url: setting(
      optional(matching(/^udp:\/\/(?:[\w.-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?\/?$/, 'udp://host:port')),
      'Address of the StatsD server. A value includes the plugin statsd, unless includes contains prometheus.',
      { default: undefined },
    ),
    statsd_prefix: setting(optional(text()), 'Prefix of metric names. A changed project_name is used instead.', {
      default: undefined,
    }),
  }),
};
