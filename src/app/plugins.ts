// Finds the plugins that the settings name, built in or from outside, and lets them say what they add.
import type { Plugin, PluginHost, PluginParts } from '../http/plugin.ts';
import { accounts } from '../plugins/accounts/index.ts';
import { admin } from '../plugins/admin/index.ts';
import { attachments } from '../plugins/attachments/index.ts';
import { changes } from '../plugins/changes/index.ts';
import { counters } from '../plugins/counters/index.ts';
import { defaultBucket } from '../plugins/default-bucket/index.ts';
import { emailer } from '../plugins/emailer/index.ts';
import { flush } from '../plugins/flush/index.ts';
import { history } from '../plugins/history/index.ts';
import { openid } from '../plugins/openid/index.ts';
import { prometheus } from '../plugins/prometheus/index.ts';
import { quotas } from '../plugins/quotas/index.ts';
import { signer } from '../plugins/signer/index.ts';
import { statsd } from '../plugins/statsd/index.ts';
import type { Settings } from '../settings/settings.ts';
import { loadModule, messageOf } from './modules.ts';

/** Those that come with the software, by whose names `includes` asks for them. */
export const builtInPlugins: readonly Plugin[] = [
  accounts,
  admin,
  attachments,
  changes,
  counters,
  defaultBucket,
  emailer,
  flush,
  history,
  openid,
  prometheus,
  quotas,
  signer,
  statsd,
];

/**
 * The included plugins, each once, in the order of the setting and then of the list.
 *
 * @throws Error for a name that is neither built in nor a module that exports a plugin
 */
export async function findPlugins(settings: Settings, further: readonly Plugin[]): Promise<readonly Plugin[]> {
  const included: Plugin[] = [];
  for (const name of settings.get('includes')) included.push(await findPlugin(name));
  if (settings.get('flush_endpoint_enabled')) included.push(flush);
  const plugins = [...new Set([...included, ...further])];
  const names = plugins.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`Two plugins have the name ${twice}.`);
  return plugins;
}

/**
 * Lets the plugins say what they add, one after the other.
 *
 * @throws Error naming the plugin that could not be set up, with its reason
 */
export async function setUpPlugins(plugins: readonly Plugin[], host: PluginHost): Promise<readonly PluginParts[]> {
  const parts: PluginParts[] = [];
  for (const plugin of plugins) {
    try {
      parts.push(await plugin.setup(host));
    } catch (error) {
      throw new Error(`The plugin ${plugin.name} could not be set up: ${messageOf(error)}`, { cause: error });
    }
  }
  return parts;
}

async function findPlugin(name: string): Promise<Plugin> {
  const known = builtInPlugins.find((candidate) => candidate.name === name);
  if (known !== undefined) return known;
  let module: Record<string, unknown>;
  try {
    module = await loadModule(name);
  } catch (error) {
    const names = builtInPlugins.map((candidate) => candidate.name).join(', ');
    throw new Error(`includes names ${name}, which is none of ${names}. ${messageOf(error)}`, { cause: error });
  }
  for (const candidate of [module['default'], module['plugin']]) if (isPlugin(candidate)) return candidate;
  throw new Error(
    `includes names ${name}, but that module exports no plugin: export one, made with definePlugin({ name, setup }), as default.`,
  );
}

function isPlugin(value: unknown): value is Plugin {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    typeof value.name === 'string' &&
    'setup' in value &&
    typeof value.setup === 'function'
  );
}
