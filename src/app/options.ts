// From settings to the options each room asks for.
import { createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import type { AuthenticationPolicy } from '../contracts/authentication.ts';
import type { SecurityState } from '../contracts/security-state.ts';
import type { KindSettings } from '../engine/compiled-kind.ts';
import type { EngineOptions } from '../engine/scope.ts';
import { requesterOf } from '../http/address-group.ts';
import type { ErrorOptions } from '../http/errors.ts';
import type { ServerOptions } from '../http/server.ts';
import type { RedirectOptions } from '../http/target.ts';
import { integer } from '../settings/readers.ts';
import type { Settings } from '../settings/settings.ts';

export function engineOptions(
  settings: Settings,
  securityState: SecurityState,
  clock: Clock,
): Omit<EngineOptions, 'isImpossibleGroup'> {
  const [major = '1'] = settings.get('http_api_version').split('.');
  const secret = settings.get('userid_hmac_secret');
  return {
    explicitPermissions: settings.get('explicit_permissions'),
    isReadonly: settings.get('readonly'),
    maxPrincipals: settings.get('max_principals'),
    maxObjectChars: settings.get('max_body_size'),
    maxPageBytes: settings.get('max_page_bytes'),
    maxAnswerBytes: settings.get('max_answer_bytes'),
    maxObjectValues: settings.get('max_json_values'),
    paginateBy: settings.get('paginate_by'),
    maxFetchSize: settings.get('storage_max_fetch_size'),
    maxFilters: settings.get('max_filters'),
    refusesOutdatedSince: settings.get('refuse_outdated_since'),
    tokenKey: settings.get('pagination_token_signed')
      ? createHmac('sha256', secret).update('page tokens').digest()
      : undefined,
    tokenValiditySeconds: settings.get('pagination_token_validity_seconds'),
    documentationUrl: settings.get('project_docs'),
    versionPrefix: `${settings.get('path_prefix')}/v${major}`,
    securityState,
    requesterOf,
    clock,
  };
}

/** Settings named after kinds and ids. Cache times are asked for with ids from requests, so the answers are kept. */
export function kindSettings(settings: Settings): KindSettings {
  const seconds = new LRUCache<string, { readonly value: number | undefined }>({ max: 1000 });
  return {
    maxIdLength: settings.get('max_id_length'),
    text: (key) => settings.lookup(key),
    list: (key) => settings.lookupList(key) ?? [],
    flag: (key, byDefault) => settings.lookupFlag(key) ?? byDefault,
    cacheSeconds(key) {
      let known = seconds.get(key);
      if (known === undefined) {
        known = { value: settings.lookupWith(integer({ min: 0 }), key) };
        seconds.set(key, known);
      }
      return known.value;
    },
  };
}

export function errorOptions(settings: Settings, policies: readonly AuthenticationPolicy[]): ErrorOptions {
  return {
    retryAfterSeconds: settings.get('retry_after_seconds'),
    infoLink: settings.get('error_info_link') || undefined,
    infoAll: settings.get('error_info_all'),
    challenges: policies.map(({ challenge }) => challenge),
    notAcceptableStatus: settings.get('not_acceptable_status'),
  };
}

export function redirectOptions(settings: Settings): RedirectOptions {
  return {
    versionPrefix: settings.get('version_prefix_redirect_enabled'),
    versionPrefixTtlSeconds: settings.get('version_prefix_redirect_ttl_seconds'),
    unsupportedVersion: settings.get('unsupported_version_redirect_enabled'),
    trailingSlash: settings.get('trailing_slash_redirect_enabled'),
    trailingSlashTtlSeconds: settings.get('trailing_slash_redirect_ttl_seconds'),
  };
}

export function serverLimits(settings: Settings): Omit<ServerOptions, 'runner' | 'ownHosts' | 'vitalPaths'> {
  return {
    json: { maxDepth: settings.get('max_json_depth'), maxValues: settings.get('max_json_values') },
    bodyLimitBytes: settings.get('max_body_size'),
    memory: {
      budgetBytes: settings.get('memory_budget_bytes'),
      maxWaitMs: settings.get('memory_wait_seconds') * 1000,
      maxWaiting: settings.get('memory_max_waiting'),
    },
    headerLimitBytes: settings.get('max_header_size'),
    // Headers that may take longer than the request would switch the limit of the request off.
    headersTimeoutSeconds: Math.min(settings.get('header_timeout_seconds'), settings.get('body_timeout_seconds')),
    requestTimeoutSeconds: settings.get('body_timeout_seconds'),
    silenceTimeoutSeconds: settings.get('request_timeout_seconds'),
    idleTimeoutSeconds: settings.get('idle_timeout_seconds'),
    maxConnectionsPerAddress: settings.get('max_connections_per_address'),
    trustedProxies: settings.get('trusted_proxies'),
    scheme: settings.get('http_scheme'),
    host: settings.get('http_host'),
    allowedHosts: settings.get('allowed_hosts'),
  };
}
