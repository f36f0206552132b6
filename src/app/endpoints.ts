// All endpoints of the service: the views, the batch, the resources, and those of plugins.
import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolve } from 'import-meta-resolve';
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { AuthenticationPolicy } from '../contracts/authentication.ts';
import type { Logger } from '../contracts/logger.ts';
import type { OpenBackends } from '../contracts/open-backends.ts';
import { toPrincipals } from '../core/permissions/principals.ts';
import type { CompiledKind, KindSettings } from '../engine/compiled-kind.ts';
import type { Endpoint } from '../engine/endpoint.ts';
import { liveTransports, maxWaitSeconds } from '../core/query/parameters.ts';
import { indexesEndpoint } from '../resources/indexes-endpoint.ts';
import type { EngineOptions } from '../engine/scope.ts';
import { resourceEndpoints } from '../engine/resource-endpoints.ts';
import type { IdRules } from '../http/path-rules.ts';
import { createRouter } from '../http/router.ts';
import { parseTarget } from '../http/target.ts';
import { documentEndpoints } from '../http/api-description/document-endpoint.ts';
import { batchEndpoint } from '../http/batch.ts';
import type { LiveSessions } from '../http/authentication/live-session.ts';
import { manyListsEndpoint, maxLists } from '../live/many-lists.ts';
import type { OperatorAreas, Plugin, PluginHost, PluginParts } from '../http/plugin.ts';
import { apiDocsEndpoints } from '../http/views/api-docs.ts';
import { checkHealth, heartbeatEndpoints, type HealthOptions } from '../http/views/heartbeat.ts';
import { permissionsEndpoint } from '../http/views/permissions.ts';
import { rootEndpoint, type Capability, type CurrentCapability } from '../http/views/root.ts';
import { staticJsonEndpoint } from '../http/views/static-json.ts';
import { userDataEndpoints } from '../http/views/user-data.ts';
import { formatValue, type SettingsTable } from '../settings/definition.ts';
import { deriveKey } from '../settings/derived-keys.ts';
import type { Settings } from '../settings/settings.ts';
import { webhookEndpoints } from '../webhooks/webhook-endpoints.ts';
import { healthChecks } from './health.ts';
import type { ConfiguredListeners } from './listeners.ts';
import { familiesOf, tablesOf } from './plugins.ts';
import { publicEndpoints } from './servers.ts';

export interface EndpointSources {
  readonly host: PluginHost;
  readonly backends: OpenBackends;
  readonly plugins: readonly Plugin[];
  readonly parts: readonly PluginParts[];
  readonly kinds: ReadonlyMap<string, CompiledKind>;
  readonly ofKinds: KindSettings;
  readonly policies: readonly AuthenticationPolicy[];
  readonly listeners: ConfiguredListeners;
}

/**
 * Returns all endpoints of the service: the views, the batch, the resources, and those of plugins.
 *
 * @throws Error when two plugins declare one capability
 */
export function createEndpoints(sources: EndpointSources, liveSessions: LiveSessions | undefined): readonly Endpoint[] {
  const { host, kinds, ofKinds, parts } = sources;
  const { settings, engine } = host;
  const endpoints: Endpoint[] = [];
  // The API description covers all endpoints and is created when it is first requested.
  const described = (): readonly Endpoint[] =>
    publicEndpoints(settings, endpoints).filter(({ operations }) => Object.keys(operations).length > 0);
  const resources = resourceEndpoints(
    kinds.values(),
    engine,
    ofKinds,
    parts.flatMap(({ actions = [] }) => actions),
  );
  endpoints.push(
    ...viewEndpoints(sources, described),
    batchEndpoint({
      maxRequests: settings.get('batch_max_requests') ?? 0,
      maxBytes: settings.get('batch_max_bytes'),
      maxHeaderBytes: settings.get('max_header_size'),
      versionPrefix: engine.versionPrefix,
    }),
    ...(liveSessions === undefined ? [] : [manyLists(engine, resources, kinds), liveSessions.endpoint]),
    ...resources,
    ...indexesEndpoints(kinds, engine),
    ...parts.flatMap((part) => part.endpoints ?? []),
    ...operatorEndpoints(sources),
  );
  return endpoints;
}

/** Returns the rules of ids by the name of the id. */
export function idRulesOf(kinds: EndpointSources['kinds']): IdRules {
  return new Map(Array.from(kinds.values(), ({ idName, ids }) => [idName, ids] as const));
}

function manyLists(
  { versionPrefix }: EngineOptions,
  resources: readonly Endpoint[],
  kinds: EndpointSources['kinds'],
): Endpoint {
  const lists = createRouter(
    resources.filter(({ isList }) => isList),
    idRulesOf(kinds),
  );
  const isList = (path: string): boolean => lists.find(parseTarget(path).path) !== undefined;
  return manyListsEndpoint({ versionPrefix, isList });
}

/** Returns the endpoints for operators; none without the plugin `operations`. */
function operatorEndpoints({ host, backends, plugins, parts, listeners }: EndpointSources): readonly Endpoint[] {
  const { settings, engine } = host;
  const areas = Object.assign({}, ...parts.map(({ operatorAreas = {} }) => operatorAreas), {
    webhooks: webhookEndpoints(listeners.webhooks, engine),
  }) as OperatorAreas;
  const health = healthOptions(host, backends, parts);
  return parts.flatMap(
    ({ openAreas }) =>
      openAreas?.({
        areas,
        checkHealth: (options) => checkHealth(health, options),
        listSettings: () => settings.listEffective(tablesOf(plugins), familiesOf(plugins)),
      }) ?? [],
  );
}

function healthOptions(
  { settings, logger }: PluginHost,
  backends: OpenBackends,
  parts: readonly PluginParts[],
): HealthOptions {
  const timeoutSeconds = settings.get('heartbeat_timeout_seconds');
  return { checks: healthChecks(backends, settings, parts), timeoutSeconds, logger };
}

function indexesEndpoints(kinds: EndpointSources['kinds'], { indexing }: EngineOptions): readonly Endpoint[] {
  const records = kinds.get('record');
  return records === undefined ? [] : [indexesEndpoint({ records, indexing })];
}

/** Returns the endpoints that are not resources: root view, health, version, description, permissions. */
function viewEndpoints(sources: EndpointSources, described: () => readonly Endpoint[]): readonly Endpoint[] {
  const { host, backends, plugins, parts, kinds, policies } = sources;
  const { settings, engine, logger } = host;
  const showsPermissions =
    settings.get('experimental_permissions_endpoint') || parts.some((part) => part.showsPermissions === true);
  const identity = {
    projectName: settings.get('project_name'),
    projectDocs: settings.get('project_docs'),
    httpApiVersion: settings.get('http_api_version'),
    versionPrefix: engine.versionPrefix,
  };
  return [
    rootEndpoint({
      ...identity,
      projectVersion: settings.get('project_version'),
      configFile: describeFile(settings),
      endOfService: settings.get('eos')?.text,
      publicSettings: publicSettings(settings, tablesOf(plugins)),
      capabilities: collectCapabilities(sources, showsPermissions),
      userInfo: parts.flatMap(({ userInfo }) => (userInfo === undefined ? [] : [userInfo])),
      isReadonly: settings.get('readonly'),
      cacheSeconds: settings.get('root_cache_expires_seconds'),
    }),
    ...heartbeatEndpoints({
      ...healthOptions(host, backends, parts),
      retryAfterSeconds: settings.get('retry_after_seconds'),
    }),
    staticJsonEndpoint({
      name: 'version',
      path: '/__version__',
      operationId: '__version__',
      summary: 'Returns the version of the software.',
      files: configuredFile(settings.get('version_json_path'), ['version.json', join(assets, 'version.json')]),
    }),
    staticJsonEndpoint({
      name: 'contribute',
      path: '/contribute.json',
      operationId: 'contribute',
      summary: 'Returns how to contribute to the project.',
      files: configuredFile(settings.get('contribute_json_path'), [join(assets, 'contribute.json')]),
    }),
    ...documentEndpoints({
      ...identity,
      policies,
      notAcceptableStatus: settings.get('not_acceptable_status'),
      endpoints: described,
    }),
    ...(settings.get('api_docs_enabled') ? createApiDocs(engine.versionPrefix, logger) : []),
    ...userDataEndpoints({
      kinds,
      engine,
      deleters: new Set(toPrincipals(settings.get('user-data_delete_principals'))),
    }),
    ...(showsPermissions
      ? [
          permissionsEndpoint({
            kinds,
            engine,
            readers: new Set(toPrincipals(settings.get('permissions_read_principals'))),
          }),
        ]
      : []),
  ];
}

/** Returns the file in a setting, even when it does not exist; otherwise the default files. */
function configuredFile(configured: string | undefined, defaults: readonly string[]): readonly string[] {
  return configured === undefined || configured === '' ? defaults : [configured];
}

/** Returns the settings that clients adapt to, with those of plugins; an unlimited batch is shown as 0. */
function publicSettings(settings: Settings, tables: readonly SettingsTable[]): JsonObject {
  const shown = tables.flatMap((table) => {
    const values: Readonly<Record<string, unknown>> = settings.read(table);
    return Object.entries(table).flatMap(([key, row]) =>
      row.isPublic ? [[key, shownValue(values[key])] as const] : [],
    );
  });
  return {
    ...Object.fromEntries(shown),
    readonly: settings.get('readonly'),
    explicit_permissions: settings.get('explicit_permissions'),
    batch_max_requests: settings.get('batch_max_requests') ?? 0,
  };
}

function shownValue(value: unknown): JsonValue {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return Array.isArray(value) ? value.map(formatValue) : formatValue(value);
}

type Capabilities = Map<string, Capability | CurrentCapability>;

/** @throws Error when a capability is declared twice */
function collectCapabilities({ host, parts, policies }: EndpointSources, showsPermissions: boolean): Capabilities {
  const { settings, documentationUrl } = host;
  const all: Capabilities = new Map();
  for (const [key, capability] of parts.flatMap(({ capabilities }) => Object.entries(capabilities ?? {}))) {
    if (all.has(key)) throw new Error(`The capability ${key} is declared by two plugins.`);
    all.set(key, capability);
  }
  const add = (key: string, description: string): void => {
    if (all.has(key)) throw new Error(`The capability ${key} is built in and cannot be declared by a plugin.`);
    all.set(key, { description, url: documentationUrl(key) });
  };
  if (policies.some(({ name }) => name === 'basicauth')) add('basicauth', 'Users authenticate with Basic credentials.');
  add('resync', 'The header Resync reports that a client has missed deletions that are no longer known.');
  add('selectors', 'Lists accept conditions as JSON in the parameter _filter.');
  all.set('indexes', {
    description: 'Collections declare indexes of their records in the attribute indexes.',
    url: documentationUrl('indexes'),
    max_indexes: settings.get('max_indexes'),
    max_fields: settings.get('max_index_fields'),
  });
  if (host.engine.searchesText)
    add('text-search', 'Lists with a text index are searched by words in the parameter _q.');
  if (host.engine.live !== undefined) {
    all.set('live', {
      description:
        'Lists send their changes as they happen: as server-sent events with _live=sse, or by long polling with _live=poll.',
      url: documentationUrl('live'),
      transports: liveTransports,
      max_lists: maxLists,
      max_wait_seconds: maxWaitSeconds,
      max_stream_seconds: settings.get('live_max_seconds'),
      max_streams_per_user: settings.get('live_max_streams_per_user'),
    });
  }
  if (settings.get('experimental_collection_schema_validation')) {
    add('schema', 'Objects are validated by the JSON schemas of collections and buckets.');
  }
  if (showsPermissions) add('permissions_endpoint', 'GET /permissions lists what the caller may do.');
  return all;
}

const assets = fileURLToPath(new URL('../../assets/', import.meta.url));

/** Returns the endpoints of the API page; none when the viewer is missing, since the service works without it. */
function createApiDocs(versionPrefix: string, logger: Logger): readonly Endpoint[] {
  const viewerFolder = findViewer();
  if (viewerFolder !== undefined) {
    return apiDocsEndpoints({ versionPrefix, pageFolder: join(assets, 'api-docs'), viewerFolder });
  }
  logger.warn('The page at /docs is not served, because its viewer is missing. "npm run build" copies it.');
  return [];
}

/** Returns the folder of the viewer in the package; in a checkout, of the package that it is copied from. */
function findViewer(): string | undefined {
  const shipped = join(assets, 'swagger-ui');
  if (existsSync(join(shipped, 'swagger-ui.css'))) return shipped;
  try {
    return dirname(fileURLToPath(resolve('@fastify/swagger-ui/static/swagger-ui.css', import.meta.url)));
  } catch {
    // Development packages are not installed.
    return undefined;
  }
}

/**
 * Returns what every client may know of the configuration file. Its hash depends on the secret of the service. Otherwise short
 * secrets in the file, such as passwords of databases, could be guessed by hashing.
 */
function describeFile(settings: Settings): JsonObject | null {
  if (settings.file === null) return null;
  const { name: path, hash, modified } = settings.file;
  const key = deriveKey(settings.get('userid_hmac_secret'), 'hash of the configuration file');
  const keyed = createHmac('sha256', key).update(hash).digest('hex');
  return { path, hash: keyed, modified };
}
