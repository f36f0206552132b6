// Finds the plugins that the settings name and lets them say what they add.
import type { Plugin, PluginHost, PluginParts } from '../http/plugin.ts';
import { accounts } from '../plugins/accounts/index.ts';
import { defaultBucket } from '../plugins/default-bucket/index.ts';
import { flush } from '../plugins/flush/index.ts';
import type { Settings } from '../settings/settings.ts';

const builtIn: readonly Plugin[] = [defaultBucket, flush, accounts];

/**
 * Sets up the included plugins, each once, in the order of the setting and then of the list.
 *
 * @throws Error for an unknown name
 */
export function setUpPlugins(settings: Settings, further: readonly Plugin[], host: PluginHost): readonly PluginParts[] {
  const included = settings.get('includes').map(findPlugin);
  if (settings.get('flush_endpoint_enabled')) included.push(flush);
  return [...new Set([...included, ...further])].map((plugin) => plugin.setup(host));
}

function findPlugin(name: string): Plugin {
  const plugin = builtIn.find((candidate) => candidate.name === name);
  if (plugin === undefined) {
    const known = builtIn.map((candidate) => candidate.name).join(', ');
    throw new Error(`includes names the plugin ${name}, which this version does not have; it has ${known}.`);
  }
  return plugin;
}
