// All settings that are known: those of the plugins that come with the software, and of others that the settings include.
import type { SettingsTable } from '../settings/definition.ts';
import type { SettingsFamily } from '../settings/families.ts';
import type { Settings } from '../settings/settings.ts';
import { loadAllBuiltIn } from './built-in-plugins.ts';
import { Faults } from './faults.ts';
import { familiesOf, gatherPlugins, tablesOf } from './plugins.ts';

export interface PluginVocabulary {
  readonly tables: readonly SettingsTable[];
  readonly families: readonly SettingsFamily[];
}

/** Returns what plugins know, included or not; a plugin that cannot be found says nothing. */
export async function findVocabulary(settings: Settings): Promise<PluginVocabulary> {
  const included = await gatherPlugins(settings, [], new Faults());
  const plugins = [...new Set([...(await loadAllBuiltIn()), ...included])];
  return {
    tables: tablesOf(plugins),
    families: familiesOf(plugins),
  };
}
