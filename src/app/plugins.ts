// Finds the plugins that the settings name, built in or from outside, and lets them say what they add.
import { messageOf } from '../base/message-of.ts';
import type { Plugin, PluginHost, PluginParts } from '../http/plugin.ts';
import type { Settings } from '../settings/settings.ts';
import { builtInNames, loadBuiltIn } from './built-in-plugins.ts';
import { SettingsError } from '../settings/problems.ts';
import type { SettingsTable } from '../settings/definition.ts';
import type { SettingsFamily } from '../settings/families.ts';
import type { Faults } from './faults.ts';
import { loadModule } from '../loader/modules.ts';

/**
 * Finds the included plugins, each once, in the order of the setting and then of the list. A name that is neither built
 * in nor a module that exports a plugin is a fault and left out.
 */
export async function gatherPlugins(
  settings: Settings,
  further: readonly Plugin[],
  faults: Faults,
): Promise<readonly Plugin[]> {
  const included: Plugin[] = [];
  const names = [...settings.get('includes'), ...(settings.get('flush_endpoint_enabled') ? ['flush'] : [])];
  for (const name of names) {
    try {
      included.push(await findPlugin(name));
    } catch (error) {
      faults.addMissing(error, { isBuiltIn: false });
    }
  }
  const plugins = [...new Set([...included, ...further])];
  const own = plugins.map(({ name }) => name);
  const twice = own.find((name, index) => own.indexOf(name) !== index);
  if (twice !== undefined) faults.add(new Error(`Two plugins have the name ${twice}.`));
  return plugins;
}

/** Returns the tables of settings that the plugins bring. */
export function tablesOf(plugins: readonly Plugin[]): readonly SettingsTable[] {
  return plugins.flatMap(({ settings }) => (settings === undefined ? [] : [settings]));
}

/** Returns the families of settings that the plugins bring. */
export function familiesOf(plugins: readonly Plugin[]): readonly SettingsFamily[] {
  return plugins.flatMap(({ families = [] }) => families);
}

/** Lets the plugins say what they add, one after the other; those that cannot be set up are left out. */
export async function setUpPlugins(
  plugins: readonly Plugin[],
  host: PluginHost,
  faults: Faults,
): Promise<readonly PluginParts[]> {
  const parts: PluginParts[] = [];
  for (const plugin of plugins) {
    try {
      parts.push(await plugin.setup(host));
    } catch (error) {
      // Problems of settings name the settings themselves.
      const isNamed = error instanceof SettingsError;
      const message = `The plugin ${plugin.name} could not be set up: ${messageOf(error)}`;
      const isBuiltIn = builtInNames.includes(plugin.name);
      faults.addMissing(isNamed ? error : new Error(message, { cause: error }), { isBuiltIn });
    }
  }
  return parts;
}

async function findPlugin(name: string): Promise<Plugin> {
  const known = await loadBuiltIn(name);
  if (known !== undefined) return known;
  let module: Record<string, unknown>;
  try {
    module = await loadModule(name);
  } catch (error) {
    throw new Error(`includes names ${name}, which is none of ${builtInNames.join(', ')}. ${messageOf(error)}`, {
      cause: error,
    });
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
