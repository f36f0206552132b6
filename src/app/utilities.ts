// The endpoints beside the resources: root view, health, version, description, permissions.
import { fileURLToPath } from 'node:url';
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { AuthenticationPolicy } from '../contracts/authentication.ts';
import type { Logger } from '../contracts/logger.ts';
import type { Caller } from '../engine/caller.ts';
import type { CompiledKind } from '../engine/compiled-kind.ts';
import type { Endpoint } from '../engine/endpoint.ts';
import type { EngineOptions } from '../engine/scope.ts';
import { documentEndpoints } from '../http/api-description/document-endpoint.ts';
import { heartbeatEndpoints, type HealthCheck } from '../http/views/heartbeat.ts';
import { permissionsEndpoint } from '../http/views/permissions.ts';
import { rootEndpoint, type Capability, type CurrentCapability } from '../http/views/root.ts';
import { userDataEndpoints } from '../http/views/user-data.ts';
import { staticJsonEndpoint } from '../http/views/static-json.ts';
import { formatValue, type SettingsTable } from '../settings/definition.ts';
import type { Settings } from '../settings/settings.ts';
import { createApiDocs } from './api-docs.ts';

export type Capabilities = Map<string, Capability | CurrentCapability>;

export interface UtilityOptions {
  readonly settings: Settings;
  readonly publicSettings: JsonObject;
  readonly logger: Logger;
  readonly kinds: ReadonlyMap<string, CompiledKind>;
  readonly engine: EngineOptions;
  readonly policies: readonly AuthenticationPolicy[];
  readonly capabilities: Capabilities;
  /** Whether there is `GET /permissions`. */
  readonly showsPermissions: boolean;
  readonly userInfo: readonly ((caller: Caller) => JsonObject)[];
  readonly checks: ReadonlyMap<string, HealthCheck>;
  /** All endpoints of the service, for its description. */
  readonly endpoints: () => readonly Endpoint[];
  readonly documentationUrl: (topic: string) => string;
}

export function utilityEndpoints(options: UtilityOptions): readonly Endpoint[] {
  const { settings, kinds, engine, policies } = options;
  const { showsPermissions } = options;
  return [
    rootEndpoint({
      projectName: settings.get('project_name'),
      projectVersion: settings.get('project_version'),
      projectDocs: settings.get('project_docs'),
      httpApiVersion: settings.get('http_api_version'),
      versionPrefix: engine.versionPrefix,
      configFile:
        settings.file === null
          ? null
          : { path: settings.file.name, hash: settings.file.hash, modified: settings.file.modified },
      endOfService: settings.get('eos')?.text,
      publicSettings: options.publicSettings,
      capabilities: coreCapabilities(options),
      userInfo: options.userInfo,
      isReadonly: settings.get('readonly'),
      cacheSeconds: settings.get('root_cache_expires_seconds'),
    }),
    ...heartbeatEndpoints({
      checks: options.checks,
      timeoutSeconds: settings.get('heartbeat_timeout_seconds'),
      retryAfterSeconds: settings.get('retry_after_seconds'),
      logger: options.logger,
    }),
    staticJsonEndpoint({
      name: 'version',
      path: '/__version__',
      operationId: '__version__',
      summary: 'Returns the version of the software.',
      files: configuredFile(settings.get('version_json_path'), ['version.json', shipped('version.json')]),
    }),
    staticJsonEndpoint({
      name: 'contribute',
      path: '/contribute.json',
      operationId: 'contribute',
      summary: 'Returns how to contribute to the project.',
      files: configuredFile(settings.get('contribute_json_path'), [shipped('contribute.json')]),
    }),
    ...documentEndpoints({
      projectName: settings.get('project_name'),
      projectDocs: settings.get('project_docs'),
      httpApiVersion: settings.get('http_api_version'),
      versionPrefix: engine.versionPrefix,
      policies,
      notAcceptableStatus: settings.get('not_acceptable_status'),
      endpoints: options.endpoints,
    }),
    ...(settings.get('api_docs_enabled') ? createApiDocs(engine.versionPrefix, options.logger) : []),
    ...userDataEndpoints({ kinds, engine, deleters: new Set(settings.get('user-data_delete_principals')) }),
    ...(showsPermissions
      ? [
          permissionsEndpoint({
            kinds,
            engine,
            readers: new Set(settings.get('permissions_read_principals')),
          }),
        ]
      : []),
  ];
}

/** A file named by a setting stands alone: when it is missing, nothing takes its place. */
function configuredFile(configured: string | undefined, defaults: readonly string[]): readonly string[] {
  return configured === undefined || configured === '' ? defaults : [configured];
}

function shipped(name: string): string {
  return fileURLToPath(new URL(`../../assets/${name}`, import.meta.url));
}

/**
 * Settings that clients adapt to, those of plugins included; an unlimited batch is shown as 0.
 *
 * @param tables of plugins
 */
export function publicSettings(settings: Settings, tables: readonly SettingsTable[]): JsonObject {
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

function coreCapabilities({
  settings,
  policies,
  capabilities,
  showsPermissions,
  documentationUrl,
}: UtilityOptions): Capabilities {
  const all: Capabilities = new Map(capabilities);
  const add = (key: string, description: string): void => {
    if (all.has(key)) throw new Error(`The capability ${key} is built in and cannot be declared by a plugin.`);
    all.set(key, { description, url: documentationUrl(key) });
  };
  if (policies.some(({ name }) => name === 'basicauth')) add('basicauth', 'Users are told apart by Basic credentials.');
  add('resync', 'Lists tell those who follow them, by the header Resync, when deletions they missed were forgotten.');
  if (settings.get('experimental_collection_schema_validation')) {
    add('schema', 'Objects are validated by the JSON schemas of collections and buckets.');
  }
  if (showsPermissions) {
    add('permissions_endpoint', 'GET /permissions lists what the caller may do.');
  }
  return all;
}
