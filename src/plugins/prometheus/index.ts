// `GET /__metrics__` in the form that Prometheus reads. What keeps the metrics is loaded only when the plugin is included.
import { definePlugin } from '../../http/plugin.ts';
import { prometheusSettings } from './settings.ts';

export const prometheus = definePlugin({
  name: 'prometheus',
  settings: prometheusSettings,
  observes: true,
  async setup(host) {
    const { setUp } = await import('./set-up.ts');
    return setUp(host);
  },
});
