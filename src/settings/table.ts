// The table of core settings; the rows are in `rows/`. Plugins have tables of their own. `families.ts` has the settings with
// names that contain a kind or an id.
import type { SettingsTable, ValuesOf } from './definition.ts';
import { accountSettings, accountValidationSettings } from './rows/accounts.ts';
import { accessSettings, authenticationSettings, listSettings } from './rows/access.ts';
import { backendSettings } from './rows/backends.ts';
import { cachingSettings, overloadSettings, redirectSettings, requestSettings } from './rows/http.ts';
import { mailSettings } from './rows/mail.ts';
import { monitoringSettings } from './rows/monitoring.ts';
import { protectionSettings } from './rows/protection.ts';
import { postgresqlSettings } from './rows/postgresql.ts';
import { loggingSettings, serviceSettings } from './rows/service.ts';

/** All core settings by name. */
export const coreSettings = {
  ...inSection('Service', serviceSettings),
  ...inSection('Authentication', authenticationSettings),
  ...inSection('Backends', backendSettings),
  ...inSection('PostgreSQL', postgresqlSettings),
  ...inSection('Access and ids', accessSettings),
  ...inSection('Accounts', accountSettings),
  ...inSection('Account validation', accountValidationSettings),
  ...inSection('Mail', mailSettings),
  ...inSection('Lists', listSettings),
  ...inSection('Requests and limits', requestSettings),
  ...inSection('Protection', protectionSettings),
  ...inSection('Redirects and negotiation', redirectSettings),
  ...inSection('CORS and caching', cachingSettings),
  ...inSection('Overload and end of service', overloadSettings),
  ...inSection('Logging', loggingSettings),
  ...inSection('Monitoring', monitoringSettings),
} satisfies SettingsTable;

export type CoreTable = typeof coreSettings;
export type CoreValues = ValuesOf<CoreTable>;

function inSection<T extends SettingsTable>(section: string, table: T): T {
  return Object.fromEntries(Object.entries(table).map(([key, row]) => [key, { ...row, section }])) as T;
}
