// Makes what serves live updates from the settings.
import { silentLogger, type Logger } from '../contracts/logger.ts';
import type { Observer } from '../contracts/observer.ts';
import type { OpenBackends } from '../contracts/open-backends.ts';
import { addressGroup } from '../http/address-group.ts';
import { errorResponse } from '../http/errors.ts';
import { LiveSessions } from '../http/authentication/live-session.ts';
import type { Cors } from '../http/cors.ts';
import { compileTrusted } from '../http/forwarded.ts';
import { LiveHub } from '../live/hub.ts';
import type { PluginHost } from '../http/plugin.ts';
import { deriveKey } from '../settings/derived-keys.ts';
import type { Settings } from '../settings/settings.ts';
import { errorOptions } from './options.ts';

/** Returns the hub of live updates; `undefined` when the settings switch them off. */
export function createLive(
  settings: Settings,
  stores: OpenBackends,
  logger: Logger,
  observer: () => Observer | undefined,
): LiveHub | undefined {
  const maxStreams = settings.get('live_max_streams');
  if (maxStreams === 0) return undefined;
  const errors = errorOptions(settings);
  const isTrusted = compileTrusted(settings.get('trusted_proxies'));
  return new LiveHub({
    stores,
    logger,
    observer,
    hints: stores.storage.database.openHints?.({ logger }),
    formatError: (error) => errorResponse(error, '', errors, silentLogger).body as string,
    maxStreams,
    maxStreamsPerUser: settings.get('live_max_streams_per_user'),
    maxStreamsPerAddress: settings.get('live_max_streams_per_address'),
    limitedAddress: (address) => (address === undefined || isTrusted(address) ? undefined : addressGroup(address)),
    bufferBytes: settings.get('live_buffer_bytes'),
    recheckMs: settings.get('live_recheck_seconds') * 1000,
    maxMs: settings.get('live_max_seconds') * 1000,
  });
}

/** Returns the sessions of browsers for live updates; `undefined` when there are no live updates. */
export function createLiveSessions(
  settings: Settings,
  { engine, clock }: Pick<PluginHost, 'engine' | 'clock'>,
  cors: Cors,
): LiveSessions | undefined {
  if (engine.live === undefined) return undefined;
  return new LiveSessions({
    key: deriveKey(settings.get('userid_hmac_secret'), 'live sessions'),
    versionPrefix: engine.versionPrefix,
    clock,
    isNamedOrigin: (request) => cors.isNamedOrigin(request),
  });
}
