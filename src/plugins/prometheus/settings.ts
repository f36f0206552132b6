// Settings of the plugin `prometheus`.
import { metricsSettings } from '../../observability/metrics/settings.ts';
import { inSection, setting } from '../../settings/definition.ts';
import { flag, list, numberList, optional, text } from '../../settings/readers.ts';

export const prometheusSettings = {
  ...metricsSettings,
  ...inSection('Prometheus', {
    prometheus_prefix: setting(
      optional(text()),
      'Prefix of metric names, in lower case. Only letters and digits are used. Not set means project_name.',
      { default: undefined },
    ),
    prometheus_disabled_metrics: setting(
      list('names of metrics, without prefix'),
      'Names of disabled metrics, such as users_total.',
      { default: [], aliases: ['disabled_metrics'] },
    ),
    prometheus_histogram_buckets: setting(
      numberList('seconds in rising order, Inf last'),
      'Upper bounds of the histogram buckets for durations, in seconds.',
      { default: [0.01, 0.05, 0.1, 0.5, 1, 3, 6, Infinity] },
    ),
    prometheus_created_metrics_enabled: setting(
      flag(),
      'Exports the creation time of each counter, histogram and summary.',
      { default: true },
    ),
    prometheus_strict_names: setting(
      flag(),
      'Names the request counter requests_total. Kinto names it request_summary_total, which promtool reports as a problem.',
      { default: false },
    ),
  }),
};
