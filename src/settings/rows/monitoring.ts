// Settings about what is measured and where it goes.
import { setting } from '../definition.ts';
import { flag, integer, list, matching, numberList, optional, text } from '../readers.ts';

/** Metrics, for the plugins `prometheus` and `statsd`, and the log of slow operations. */
export const monitoringSettings = {
  slow_operation_ms: setting(
    integer({ min: 0 }),
    'Milliseconds from which on a call to a backend is logged as slow, with its list and never with values; 0 logs none.',
    { default: 0 },
  ),
  prometheus_prefix: setting(
    optional(text()),
    'Text that names of metrics start with, in lower case and without anything but letters and digits; project_name unless set.',
    { default: undefined },
  ),
  prometheus_disabled_metrics: setting(
    list('names of metrics, without prefix'),
    'Metrics that are not kept, such as users_total.',
    { default: [], aliases: ['disabled_metrics'] },
  ),
  prometheus_histogram_buckets: setting(
    numberList('seconds in rising order, Inf last'),
    'Upper bounds that durations are counted by.',
    { default: [0.01, 0.05, 0.1, 0.5, 1, 3, 6, Infinity] },
  ),
  prometheus_created_metrics_enabled: setting(
    flag(),
    'Tells beside each counter, histogram and summary since when it counts.',
    { default: true },
  ),
  prometheus_strict_names: setting(
    flag(),
    'Whether the counter of requests is called requests_total. The reference server calls it request_summary_total, which promtool objects to.',
    { default: false },
  ),
  metrics_matchdict_fields: setting(
    list('names of ids'),
    'Names of the ids in paths that become labels of metrics. `record_id` is not among them unless listed: every record would make series of its own.',
    { default: ['bucket_id', 'collection_id', 'group_id'] },
  ),
  metrics_max_label_values: setting(
    integer({ min: 0 }),
    'Distinct ids that one label may have; all further ones are (other).',
    { default: 100 },
  ),
  metrics_max_series: setting(
    integer({ min: 1 }),
    'Distinct sets of labels that a metric may have before all further ids become (other).',
    { default: 2000 },
  ),
  statsd_url: setting(
    optional(matching(/^udp:\/\/(?:[\w.-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?\/?$/, 'udp://host:port')),
    'Where the plugin statsd sends metrics to.',
    { default: undefined },
  ),
  statsd_prefix: setting(
    optional(text()),
    'Text before the names of metrics that are sent; project_name when that is set.',
    { default: undefined },
  ),
};
