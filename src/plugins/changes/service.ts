// What the endpoints of the plugin share.
import type { PluginHost } from '../../http/plugin.ts';
import type { Reader } from '../../engine/unit-of-work.ts';
import type { ValuesOf } from '../../settings/definition.ts';
import type { RedirectOptions } from './caching.ts';
import type { MonitoredEntry } from './monitored-collections.ts';
import type { changesSettings } from './settings.ts';

export interface ChangesService {
  readonly host: PluginHost;
  readonly values: ValuesOf<typeof changesSettings>;
  readonly findEntries: (reader: Reader) => Promise<readonly MonitoredEntry[]>;
  readonly redirects: RedirectOptions;
}
