// Settings of metrics, shared by the plugins that publish them.
import { inSection, setting } from '../../settings/definition.ts';
import { integer, list } from '../../settings/readers.ts';
import type { Settings } from '../../settings/settings.ts';
import type { MetricsOptions } from './metrics-observer.ts';

export const metricsSettings = inSection('Metrics', {
  metrics_matchdict_fields: setting(
    list('names of ids'),
    'Names of the ids in paths that become labels of metrics. `record_id` is not among them unless listed: every record would make series of its own.',
    { default: ['bucket_id', 'collection_id', 'group_id'] },
  ),
  metrics_max_label_values: setting(
    integer({ min: 0 }),
    'Maximum number of distinct ids in one label. Further ones become (other).',
    { default: 100 },
  ),
  metrics_max_series: setting(
    integer({ min: 1 }),
    'Maximum number of distinct sets of labels of one metric. Further ids become (other).',
    { default: 2000 },
  ),
});

/** Returns the options of `metricsObserver` from the settings. */
export function metricsOptions(settings: Settings): MetricsOptions {
  const own = settings.read(metricsSettings);
  return {
    idLabels: own.metrics_matchdict_fields.map((name) => name.replaceAll(/\W/g, '_')),
    limits: { values: own.metrics_max_label_values, series: own.metrics_max_series },
  };
}
