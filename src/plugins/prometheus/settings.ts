// Settings of the plugin `prometheus`.
import { metricsSettings } from '../../observability/metrics/settings.ts';
import { inSection, setting } from '../../settings/definition.ts';
import { flag, list, numberList, optional, text } from '../../settings/readers.ts';

export const prometheusSettings = {
  ...metricsSettings,
  ...inSection('Prometheus', {
    prometheus_prefix: setting(
      optional(text()),
      'First part of the names of metrics, in lower case, of which only letters and digits are used; project_name unless set.',
      { default: undefined },
    ),
    prometheus_disabled_metrics: setting(
      list('names of metrics, without prefix'),
      'Metrics that are not kept, such as users_total.',
      { default: [], aliases: ['disabled_metrics'] },
    ),
    prometheus_histogram_buckets: setting(
      numberList('seconds in rising order, Inf last'),
      'Upper bounds of the buckets of durations.',
      { default: [0.01, 0.05, 0.1, 0.5, 1, 3, 6, Infinity] },
    ),
    prometheus_created_metrics_enabled: setting(
      flag(),
      'Whether each counter, histogram and summary comes with the time since which it counts.',
      { default: true },
    ),
    prometheus_strict_names: setting(
      flag(),
      'Whether the counter of requests is called requests_total. The reference server calls it request_summary_total, which promtool objects to.',
      { default: false },
    ),
  }),
};
