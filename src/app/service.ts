// The composition root: settings in, running service out. Everything is put together here and nowhere else.
import { systemClock, type Clock } from '../base/clock.ts';
import type { Logger } from '../contracts/logger.ts';
import type { IdGenerator } from '../core/objects/ids.ts';
import type { AuthorizationPolicy } from '../engine/access.ts';
import { compileKinds, type CompiledKind } from '../engine/compiled-kind.ts';
import type { Endpoint } from '../engine/endpoint.ts';
import type { ServiceRequest, ServiceResponse } from '../engine/exchange.ts';
import { Subscribers } from '../engine/events/subscriber.ts';
import { withDefaultPermissions } from '../engine/default-permissions.ts';
import { withAddedPermissions } from '../engine/kind.ts';
import { Objects } from '../engine/objects.ts';
import { resourceEndpoints } from '../engine/resource-endpoints.ts';
import type { EngineOptions } from '../engine/scope.ts';
import { OperatorNotices } from '../http/operator-notices.ts';
import { batchEndpoint } from '../http/batch.ts';
import { Cors } from '../http/cors.ts';
import type { Plugin, PluginParts } from '../http/plugin.ts';
import { respond } from '../http/runner.ts';
import { rateLimitHeaders } from '../http/rate-limits/rate-limits.ts';
import { builtInKinds } from '../resources/kinds.ts';
import type { SettingsTable } from '../settings/definition.ts';
import type { SettingsFamily } from '../settings/families.ts';
import type { Settings } from '../settings/settings.ts';
import { createAuthorization } from './authorization.ts';
import { openBackends, type OpenBackends } from './backends.ts';
import { openBlobStore } from './blobs.ts';
import { Faults } from './faults.ts';
import { healthChecks } from './health.ts';
import { engineOptions, errorOptions, kindSettings, redirectOptions } from './options.ts';
import { createListeners } from './listeners.ts';
import { openMailer } from './mail.ts';
import { protectDataFiles } from './data-files.ts';
import { messageOf } from './modules.ts';
import { openObservation, type Observation } from './observation.ts';
import { createPolicies } from './policies.ts';
import { gatherPlugins, setUpPlugins } from './plugins.ts';
import { createRateLimits } from './rate-limits.ts';
import { findExposure, findVolatility } from './risks.ts';
import { prepareSchemas } from './schemas.ts';
import { compareSecrets } from './secret-fingerprints.ts';
import { createServers, publicEndpoints, type Servers } from './servers.ts';
import { publicSettings, utilityEndpoints, type Capabilities } from './utilities.ts';
import { untilReachable, type Patience } from './waiting.ts';

export interface ServiceOptions {
  readonly settings: Settings;
  readonly logger: Logger;
  /** Beside those that the setting `includes` names. */
  readonly plugins?: readonly Plugin[];
  readonly clock?: Clock;
  /** Has the last word on every access, in place of the setting `multiauth.authorization_policy`. */
  readonly authorization?: AuthorizationPolicy;
  /** How to wait for backends that cannot be reached yet; absent: not at all. */
  readonly patience?: Patience;
}

export interface Service {
  readonly settings: Settings;
  /** Listens on the configured addresses and resolves to the URL of the root view. */
  listen(): Promise<string>;
  /** The URL of the root view on the admin port, while the service listens on one. */
  readonly adminUrl: string | undefined;
  /** Answers a request without a socket, as for one that came over it. */
  answer(request: ServiceRequest): Promise<ServiceResponse>;
  /**
   * Stops accepting, finishes what is in flight, and lets go of the backends.
   *
   * @param options.lingerMs time for which idle connections are kept, when somebody else goes on serving their clients
   */
  close(options?: { readonly lingerMs: number }): Promise<void>;
}

/**
 * Builds a service from settings.
 *
 * @throws Error when it cannot start as configured, saying what to change
 */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { settings, logger, clock = systemClock, patience } = options;
  const plugins = await requirePlugins(settings, options.plugins ?? []);
  const risks = [...findExposure(settings), ...findVolatility(settings), ...(await protectDataFiles(settings))];
  for (const warning of risks) logger.warn(warning);
  const open = (): Promise<OpenBackends> => openReady(settings, clock);
  try {
    const backends = await (patience === undefined ? open() : untilReachable(open, patience, logger));
    await compareSecrets(backends.storage, settings, logger);
    const observation = await openObservation(settings, logger, plugins);
    const core = { ...options, clock };
    return await assemble(core, plugins, observation.ofBackends(backends), observation).catch(
      async (error: unknown) => {
        await observation.close();
        await backends.close();
        throw error;
      },
    );
  } finally {
    for (const warning of settings.warnings) logger.warn(warning);
  }
}

/** @throws Error, or SettingsError naming everything that is wrong with what the settings say to plugins and of them */
async function requirePlugins(settings: Settings, further: readonly Plugin[]): Promise<readonly Plugin[]> {
  const faults = new Faults();
  const plugins = await gatherPlugins(settings, further, faults);
  faults.attempt(() => settings.check(tablesOf(plugins), familiesOf(plugins)));
  faults.throwAll();
  return plugins;
}

/** Backends whose schemas are those that this version knows. */
async function openReady(settings: Settings, clock: Clock): Promise<OpenBackends> {
  const backends = await openBackends(settings, clock, { isServing: true });
  try {
    await prepareSchemas(backends, settings);
    return backends;
  } catch (error) {
    await backends.close();
    throw error;
  }
}

interface AssemblyOptions extends ServiceOptions {
  readonly clock: Clock;
  /** What was wrong before; it is thrown with what is found here. */
  readonly faults?: Faults;
}

/**
 * Puts a service together from what has been opened. It listens when told to.
 *
 * @throws Error when it cannot start as configured, saying what to change
 */
export async function assemble(
  { settings, logger, clock, authorization, faults = new Faults() }: AssemblyOptions,
  plugins: readonly Plugin[],
  backends: OpenBackends,
  observation: Observation,
): Promise<Service> {
  const { cache, securityState } = backends;
  const engine: EngineOptions = {
    ...engineOptions(settings, securityState, clock),
    isImpossibleGroup: (principal) => objects.isImpossibleGroup(principal),
  };
  const { versionPrefix } = engine;
  const documentationUrl = (topic: string): string => `${settings.get('project_docs')}#${topic}`;
  // Plugins are made before the kinds, some of which are theirs.
  const kinds = new Map<string, CompiledKind>();
  const objects = new Objects(kinds, engine);
  const mailer = openMailer(settings, logger);
  const host = {
    settings,
    stores: backends,
    cache,
    securityState,
    clock,
    logger,
    mailer,
    objects,
    openBlobStore,
    engine,
    versionPrefix,
    documentationUrl,
  };
  // Everything that is wrong with what the settings name is thrown together, below.
  const parts = await setUpPlugins(plugins, host, faults);
  // Names that only a missing plugin knows are no fault of their own.
  const canLookUp = !faults.hasUnknownGaps;
  observation.addPlugins(parts);
  warnOfUnknownKeys(settings, plugins, logger);
  const policies = observation.ofPolicies(createPolicies(host, parts, faults));

  const ofKinds = {
    ...kindSettings(settings),
    idGenerators: idGeneratorsOf(parts),
    authorization:
      authorization ?? (canLookUp ? await faults.attemptAsync(() => createAuthorization(host, parts)) : undefined),
  };
  const resources = {
    cacheSeconds: ofKinds.cacheSeconds,
    maxPrincipals: settings.get('max_principals'),
    validatesSchemas: settings.get('experimental_collection_schema_validation'),
  };
  const hasBuiltIn = backends.hasPermissions && settings.get('built_in_kinds');
  const shareable = hasBuiltIn ? builtInKinds(resources) : [];
  const declared = withDefaultPermissions([...shareable, ...parts.flatMap((part) => part.kinds ?? [])]);
  const added = parts.flatMap((part) => part.permissions ?? []);
  const compiled = canLookUp
    ? faults.attempt(() => compileKinds(withAddedPermissions(declared, added), ofKinds))
    : undefined;
  for (const [name, kind] of compiled ?? []) kinds.set(name, kind);
  if (!backends.hasPermissions && [...kinds.values()].some(({ isShareable }) => isShareable)) {
    faults.add(new Error('permission_backend is empty, but shareable resources need one.'));
  }
  const listeners = await createListeners(
    host,
    parts,
    compiled === undefined || faults.hasGaps ? undefined : new Set(kinds.keys()),
    faults,
  );
  faults.throwAll();

  const endpoints: Endpoint[] = [];
  endpoints.push(
    ...utilityEndpoints({
      settings,
      publicSettings: publicSettings(settings, tablesOf(plugins)),
      logger,
      kinds,
      engine,
      policies,
      capabilities: collectCapabilities(parts),
      showsPermissions:
        settings.get('experimental_permissions_endpoint') || parts.some((part) => part.showsPermissions === true),
      userInfo: parts.flatMap(({ userInfo }) => (userInfo === undefined ? [] : [userInfo])),
      checks: healthChecks(backends, settings, parts),
      endpoints: () =>
        publicEndpoints(settings, endpoints).filter(({ operations }) => Object.keys(operations).length > 0),
      documentationUrl,
    }),
    batchEndpoint({
      maxRequests: settings.get('batch_max_requests') ?? 0,
      maxBytes: settings.get('batch_max_bytes'),
      versionPrefix,
    }),
    ...resourceEndpoints(
      kinds.values(),
      engine,
      ofKinds,
      parts.flatMap((part) => part.actions ?? []),
    ),
    ...parts.flatMap((part) => part.endpoints ?? []),
  );

  const eos = settings.get('eos');
  const rateLimits = createRateLimits(settings, { cache, clock, logger });
  const hstsSeconds = settings.get('hsts_max_age_seconds');
  const pathPrefix = settings.get('path_prefix');
  const dispatching = {
    aliases: parts.flatMap((part) => part.aliases ?? []),
    cors: new Cors({
      origins: settings.get('cors_origins'),
      trustsOwnOrigin: !settings.get('allowed_hosts').includes('*') || settings.get('http_host') !== undefined,
      maxAgeSeconds: settings.get('cors_max_age_seconds'),
      exposes: rateLimits === undefined ? [] : rateLimitHeaders,
    }),
    clock,
    logger,
    errors: errorOptions(settings, policies),
    redirects: redirectOptions(settings),
    notices: new OperatorNotices(
      {
        backoffSeconds: settings.get('backoff'),
        backoffPercentage: settings.get('backoff_percentage'),
        endOfService: eos?.time,
        endOfServiceMessage: settings.get('eos_message') ?? '',
        endOfServiceUrl: settings.get('eos_url') ?? settings.get('project_docs'),
      },
      clock,
    ),
    place: { pathPrefix, versionPrefix },
    readonly: settings.get('readonly'),
    unversionedPaths: unversionedPaths(pathPrefix),
    frontPage: parts.find(({ frontPage }) => frontPage !== undefined)?.frontPage,
    transportSecurity: hstsSeconds > 0 ? `max-age=${hstsSeconds}` : undefined,
  };
  const running = {
    stores: backends,
    subscribers: new Subscribers([
      ...observation.ofSubscribers(
        'plugins',
        parts.flatMap((part) => part.subscribers ?? []),
      ),
      ...observation.ofSubscribers('listeners', listeners.subscribers),
    ]),
    policies,
    principals: parts.flatMap(({ principals }) => (principals === undefined ? [] : [principals])),
    logger,
    observer: observation.observer,
    rateLimits,
  };
  const idRules = new Map(Array.from(kinds.values(), ({ idName, ids }) => [idName, ids] as const));
  let servers: Servers;
  let adminUrl: string | undefined;
  const stop = (): Promise<void> => stopAll([...parts, listeners], logger);
  try {
    await startAll(plugins, parts);
    servers = createServers({ settings, logger, endpoints, idRules, dispatching, running });
    await listeners.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    settings,
    async listen() {
      const listening = await servers.listen();
      ({ adminUrl } = listening);
      return listening.url;
    },
    get adminUrl() {
      return adminUrl;
    },
    answer: (request) => respond(servers.runner, request),
    async close({ lingerMs } = { lingerMs: 0 }) {
      await servers.close(lingerMs);
      await stop();
      await mailer.close();
      await observation.close();
      await backends.close();
    },
  };
}

/** What load balancers ask for; they follow no redirects. */
function unversionedPaths(pathPrefix: string): ReadonlySet<string> {
  const paths = ['/__heartbeat__', '/__lbheartbeat__', '/__version__'];
  return new Set([...paths, ...paths.map((path) => pathPrefix + path)]);
}

/** @throws Error naming the plugin that could not be started, with its reason; SettingsError for several */
async function startAll(plugins: readonly Plugin[], parts: readonly PluginParts[]): Promise<void> {
  const faults = new Faults();
  for (const [index, part] of parts.entries()) {
    try {
      await part.start?.();
    } catch (error) {
      const message = `The plugin ${plugins[index]!.name} could not be started: ${messageOf(error)}`;
      faults.add(new Error(message, { cause: error }));
    }
  }
  faults.throwAll();
}

/** Stops them in the opposite order; one that fails, perhaps because it never started, keeps no other from stopping. */
async function stopAll(parts: readonly Pick<PluginParts, 'stop'>[], logger: Logger): Promise<void> {
  for (const part of parts.toReversed()) {
    try {
      await part.stop?.();
    } catch (error) {
      logger.error({ err: error }, 'A plugin or listener could not be stopped');
    }
  }
}

export function tablesOf(plugins: readonly Plugin[]): readonly SettingsTable[] {
  return plugins.flatMap((plugin) => (plugin.settings === undefined ? [] : [plugin.settings]));
}

export function familiesOf(plugins: readonly Plugin[]): readonly SettingsFamily[] {
  return plugins.flatMap((plugin) => plugin.families ?? []);
}

function warnOfUnknownKeys(settings: Settings, plugins: readonly Plugin[], logger: Logger): void {
  for (const line of settings.findUnknownKeys(tablesOf(plugins), familiesOf(plugins))) logger.warn(line);
}

function idGeneratorsOf(parts: readonly PluginParts[]): ReadonlyMap<string, IdGenerator> {
  return new Map(parts.flatMap(({ idGenerators }) => Object.entries(idGenerators ?? {})));
}

function collectCapabilities(parts: readonly PluginParts[]): Capabilities {
  const capabilities: Capabilities = new Map();
  for (const part of parts) {
    for (const [key, capability] of Object.entries(part.capabilities ?? {})) {
      if (capabilities.has(key)) throw new Error(`The capability ${key} is declared by two plugins.`);
      capabilities.set(key, capability);
    }
  }
  return capabilities;
}
