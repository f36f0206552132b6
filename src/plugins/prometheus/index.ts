// Plugin `prometheus`: `GET /__metrics__` in the Prometheus text format. prom-client is loaded only if the plugin is
// included.
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
