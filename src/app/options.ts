// Options of the engine, the dispatcher and the servers, derived from the settings.
import type { Clock } from '../base/clock.ts';
import type { AuthenticationPolicy } from '../contracts/authentication.ts';
import type { SecurityState } from '../contracts/security-state.ts';
import type { EngineOptions } from '../engine/scope.ts';
import { requesterOf } from '../http/address-group.ts';
import { OperatorNotices } from '../http/operator-notices.ts';
import { Cors } from '../http/cors.ts';
import type { LiveSessions } from '../http/authentication/live-session.ts';
import type { DispatchOptions } from '../http/dispatch.ts';
import type { ErrorOptions } from '../http/errors.ts';
import type { PluginHost, PluginParts } from '../http/plugin.ts';
import { rateLimitHeaders, type RateLimits } from '../http/rate-limits/rate-limits.ts';
import type { ServerOptions } from '../http/server.ts';
import { deriveKey } from '../settings/derived-keys.ts';
import type { Settings } from '../settings/settings.ts';

interface DispatchSources {
  readonly policies: readonly AuthenticationPolicy[];
  readonly parts: readonly PluginParts[];
  readonly cors: Cors;
  readonly liveSessions: LiveSessions | undefined;
}

/** Returns who may call from browsers. */
export function createCors(settings: Settings, rateLimits: RateLimits | undefined): Cors {
  return new Cors({
    origins: settings.get('cors_origins'),
    trustsOwnOrigin: !settings.get('allowed_hosts').includes('*') || settings.get('http_host') !== undefined,
    maxAgeSeconds: settings.get('cors_max_age_seconds'),
    exposes: rateLimits === undefined ? [] : rateLimitHeaders,
  });
}

/** Returns the options of the engine, without the check of groups. */
export function engineOptions(
  settings: Settings,
  securityState: SecurityState,
  clock: Clock,
): Omit<EngineOptions, 'isImpossibleGroup' | 'searchesText'> {
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
    selectors: {
      maxNodes: settings.get('max_selector_conditions'),
      maxDepth: settings.get('max_selector_depth'),
      maxValues: settings.get('max_selector_values'),
      maxChars: settings.get('max_selector_chars'),
    },
    maxSearchChars: settings.get('max_search_chars'),
    maxQueryWork: settings.get('max_query_work'),
    refusesOutdatedSince: settings.get('refuse_outdated_since'),
    tokenKey: settings.get('pagination_token_signed') ? deriveKey(secret, 'page tokens') : undefined,
    tokenValiditySeconds: settings.get('pagination_token_validity_seconds'),
    documentationUrl: settings.get('project_docs'),
    versionPrefix: `${settings.get('path_prefix')}/v${major}`,
    securityState,
    requesterOf,
    clock,
  };
}

/** Returns how errors are shown, but for the challenges of policies. */
export function errorOptions(settings: Settings): ErrorOptions {
  return {
    retryAfterSeconds: settings.get('retry_after_seconds'),
    infoLink: settings.get('error_info_link') || undefined,
    infoAll: settings.get('error_info_all'),
    challenges: [],
    notAcceptableStatus: settings.get('not_acceptable_status'),
  };
}

/** Returns the options of the dispatcher of each port, without its router. */
export function dispatchOptions(
  settings: Settings,
  { engine, clock, logger }: Pick<PluginHost, 'engine' | 'clock' | 'logger'>,
  { policies, parts, cors, liveSessions }: DispatchSources,
): Omit<DispatchOptions, 'router'> {
  const pathPrefix = settings.get('path_prefix');
  const hstsSeconds = settings.get('hsts_max_age_seconds');
  return {
    aliases: parts.flatMap(({ aliases = [] }) => aliases),
    cors,
    clock,
    logger,
    liveSessions,
    errors: { ...errorOptions(settings), challenges: policies.map(({ challenge }) => challenge) },
    redirects: {
      versionPrefix: settings.get('version_prefix_redirect_enabled'),
      versionPrefixTtlSeconds: settings.get('version_prefix_redirect_ttl_seconds'),
      unsupportedVersion: settings.get('unsupported_version_redirect_enabled'),
      trailingSlash: settings.get('trailing_slash_redirect_enabled'),
      trailingSlashTtlSeconds: settings.get('trailing_slash_redirect_ttl_seconds'),
    },
    notices: new OperatorNotices(
      {
        backoffSeconds: settings.get('backoff'),
        backoffPercentage: settings.get('backoff_percentage'),
        endOfService: settings.get('eos')?.time,
        endOfServiceMessage: settings.get('eos_message') ?? '',
        endOfServiceUrl: settings.get('eos_url') ?? settings.get('project_docs'),
      },
      clock,
    ),
    place: { pathPrefix, versionPrefix: engine.versionPrefix },
    readonly: settings.get('readonly'),
    unversionedPaths: unversionedPaths(pathPrefix),
    frontPage: parts.find(({ frontPage }) => frontPage !== undefined)?.frontPage,
    transportSecurity: hstsSeconds > 0 ? `max-age=${hstsSeconds}` : undefined,
  };
}

/** Returns the paths that load balancers request, which follow no redirects. */
function unversionedPaths(pathPrefix: string): ReadonlySet<string> {
  const paths = ['/__heartbeat__', '/__lbheartbeat__', '/__version__'];
  return new Set([...paths, ...paths.map((path) => pathPrefix + path)]);
}

/** Returns the limits of a server on requests. */
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
    // A longer timeout for headers than for the request would disable the latter.
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
