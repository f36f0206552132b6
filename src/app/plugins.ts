// Finds, sets up, starts and stops the plugins in the settings, built-in or external.
import { messageOf } from '../base/message-of.ts';
import type { Logger } from '../contracts/logger.ts';
import type { Plugin, PluginHost, PluginParts } from '../http/plugin.ts';
import type { Settings } from '../settings/settings.ts';
import { builtInNames, loadAllBuiltIn, loadBuiltIn } from './built-in-plugins.ts';
import { SettingsError } from '../settings/problems.ts';
import type { SettingsTable } from '../settings/definition.ts';
import type { SettingsFamily } from '../settings/families.ts';
import type { UnreadSetting } from '../settings/unknown.ts';
import { Faults } from './faults.ts';
import { loadModule } from '../loader/modules.ts';

/**
 * Finds the included plugins, each once: those of the setting `includes`, of other settings, and of the list. A name that is
 * neither a built-in plugin nor a module that exports one is collected as a fault.
 */
export async function gatherPlugins(
  settings: Settings,
  further: readonly Plugin[],
  faults: Faults,
): Promise<readonly Plugin[]> {
  const included: Plugin[] = [];
  const includes = settings.get('includes');
  const names = [...includes];
  if (settings.get('flush_endpoint_enabled')) names.push('flush');
  // Metrics have one destination, and `includes` is more specific than an address.
  if ((settings.lookup('statsd_url') ?? '') !== '' && !includes.includes('prometheus')) names.push('statsd');
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

/** Returns the settings tables of the plugins. */
export function tablesOf(plugins: readonly Plugin[]): readonly SettingsTable[] {
  return plugins.flatMap(({ settings }) => (settings === undefined ? [] : [settings]));
}

/** Returns the settings families of the plugins. */
export function familiesOf(plugins: readonly Plugin[]): readonly SettingsFamily[] {
  return plugins.flatMap(({ families = [] }) => families);
}

/**
 * Returns the given settings that neither the core nor one of the plugins reads.
 *
 * @param served names of settings of kinds, policies and listeners; `undefined` while they are not known
 */
export async function findUnreadSettings(
  settings: Settings,
  plugins: readonly Plugin[],
  served?: readonly string[],
): Promise<readonly UnreadSetting[]> {
  const vocabulary = { tables: tablesOf(plugins), families: familiesOf(plugins), served };
  const unread = settings.findUnread(vocabulary);
  if (unread.length === 0) return unread;
  // Loaded on demand, because most configurations need none of the others.
  const absent = (await loadAllBuiltIn()).filter((plugin) => !plugins.includes(plugin));
  return settings.findUnread({ ...vocabulary, absent });
}

/**
 * Finds the plugins, and checks their settings.
 *
 * @throws Error, or SettingsError with all problems of the plugins and their settings
 */
export async function requirePlugins(settings: Settings, further: readonly Plugin[]): Promise<readonly Plugin[]> {
  const faults = new Faults();
  const plugins = await gatherPlugins(settings, further, faults);
  faults.attempt(() => settings.check(tablesOf(plugins), familiesOf(plugins)));
  faults.throwAll();
  return plugins;
}

/** Sets up the plugins one after the other. Failures are collected as faults, and those plugins are left out. */
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
      // Messages about settings already name the setting.
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
    `includes names ${name}, but the default export of that module is not a plugin: create one with definePlugin({ name, setup }).`,
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

/**
 * Starts the plugins.
 *
 * @throws Error naming the plugin that could not be started, with its reason; SettingsError for several
 */
export async function startAll(plugins: readonly Plugin[], parts: readonly PluginParts[]): Promise<void> {
  const faults = new Faults();
  for (const [index, part] of parts.entries()) {
    try {
      await part.start?.();
    } catch (error) {
      const message = `The plugin ${plugins[index]!.name} could not be started: ${messageOf(error)}`;
      faults.add(new Error(message, { cause: error }));
    }
  }
  faults.throwAll();
}

/** Stops the plugins in reverse order. A failure, for example of a plugin that never started, is logged and does not affect the others. */
export async function stopAll(parts: readonly Pick<PluginParts, 'stop'>[], logger: Logger): Promise<void> {
  for (const part of parts.toReversed()) {
    try {
      await part.stop?.();
    } catch (error) {
      logger.error({ err: error }, 'A plugin or listener could not be stopped');
    }
  }
}

export interface PluginVocabulary {
  readonly tables: readonly SettingsTable[];
  readonly families: readonly SettingsFamily[];
  /** Names of the kinds of plugins that name them. */
  readonly kindNames: readonly string[];
}

/** Returns the settings of all built-in plugins, and of the others that the settings include and that can be found. */
export async function findVocabulary(settings: Settings): Promise<PluginVocabulary> {
  const included = await gatherPlugins(settings, [], new Faults());
  const plugins = [...new Set([...(await loadAllBuiltIn()), ...included])];
  return {
    tables: tablesOf(plugins),
    families: familiesOf(plugins),
    kindNames: plugins.flatMap(({ kindNames = [] }) => kindNames),
  };
}
