// The table of core settings; the rows are in `rows/`. Backends and plugins have tables of their own. `families.ts` has the
// settings with names that contain a kind or an id.
import type { BackendDescription } from './backend-description.ts';
import { inSection, type SettingsTable, type ValuesOf } from './definition.ts';
import { accessSettings, authenticationSettings, listSettings } from './rows/access.ts';
import { backendChoices, backendSettings, poolSettings } from './rows/backends.ts';
import { cachingSettings, overloadSettings, redirectSettings, requestSettings } from './rows/http.ts';
import { liveSettings } from './rows/live.ts';
import { mailSettings } from './rows/mail.ts';
import { protectionSettings } from './rows/protection.ts';
import { loggingSettings, serviceSettings } from './rows/service.ts';

/** All core settings by name. */
export const coreSettings = {
  ...inSection('Service', serviceSettings),
  ...inSection('Authentication', authenticationSettings),
  ...inSection('Backends', { ...backendChoices([]), ...backendSettings }),
  ...inSection('Connection pools', poolSettings),
  ...inSection('Access and ids', accessSettings),
  ...inSection('Mail', mailSettings),
  ...inSection('Lists', listSettings),
  ...inSection('Live updates', liveSettings),
  ...inSection('Requests and limits', requestSettings),
  ...inSection('Protection', protectionSettings),
  ...inSection('Redirects and negotiation', redirectSettings),
  ...inSection('CORS and caching', cachingSettings),
  ...inSection('Overload and end of service', overloadSettings),
  ...inSection('Logging', loggingSettings),
} satisfies SettingsTable;

export type CoreTable = typeof coreSettings;
export type CoreValues = ValuesOf<CoreTable>;

/** Returns the core settings with the names and URL forms of these backends. */
export function coreSettingsFor(backends: readonly BackendDescription[]): CoreTable {
  return backends.length === 0 ? coreSettings : { ...coreSettings, ...inSection('Backends', backendChoices(backends)) };
}

/** Returns the tables of the settings of single backends, each in its own section. */
export function tablesOfBackends(backends: readonly BackendDescription[]): readonly SettingsTable[] {
  return backends.map(({ title, settings }) => inSection(title, settings));
}
