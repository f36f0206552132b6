// Opens a backend module as a service would, so that its author can run the contract suites on it.
import { BackendOpener } from '../../backends/open-backends.ts';
import type { CacheContext, DatabaseContext } from '../../contracts/backend-module.ts';
import { settingsOf } from '../../backends/load-settings.ts';
import type { TestClock } from '../contract/contract-case.ts';

/**
 * What `openDatabase` and `openCache` of a module are called with.
 *
 * @param clock the one that is handed to the suites
 * @param settings as a configuration file would hold them
 */
export function createBackendContexts(
  clock: TestClock,
  settings: Readonly<Record<string, string>> = {},
): { readonly database: DatabaseContext; readonly cache: CacheContext } {
  const opener = new BackendOpener(settingsOf({ userid_hmac_secret: 'secret for tests', ...settings }), clock);
  return { database: opener.databaseContext('storage'), cache: opener.cacheContext() };
}
