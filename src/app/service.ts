// The composition root: assembles a running service from settings.
import { protectDataFiles } from '../backends/data-files.ts';
import { openBackends } from '../backends/open-backends.ts';
import { openMailer } from '../backends/open-mailer.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { openBlobStore } from '../blobs/open-blob-store.ts';
import type { Logger } from '../contracts/logger.ts';
import type { OpenBackends } from '../contracts/open-backends.ts';
import type { AuthorizationPolicy } from '../engine/access.ts';
import type { CompiledKind, KindSettings } from '../engine/compiled-kind.ts';
import { Subscribers } from '../engine/events/subscriber.ts';
import type { ServiceRequest, ServiceResponse } from '../engine/exchange.ts';
import { Objects } from '../engine/objects.ts';
import type { EngineOptions } from '../engine/scope.ts';
import { TimestampOrder } from '../engine/timestamp-order.ts';
import type { Plugin, PluginHost, PluginParts } from '../http/plugin.ts';
import { respond } from '../http/runner.ts';
import { findExposure, findVolatility } from '../maintenance/risks.ts';
import type { LiveHub } from '../live/hub.ts';
import { warnOfFilling } from '../maintenance/filling.ts';
import { prepareSchemas } from '../maintenance/schemas.ts';
import { compareSecrets } from '../maintenance/secret-fingerprints.ts';
import { openObservation, type Observation } from '../observability/observation.ts';
import { SettingsError } from '../settings/problems.ts';
import type { Settings } from '../settings/settings.ts';
import { createEndpoints, idRulesOf, type EndpointSources } from './endpoints.ts';
import { Faults } from './faults.ts';
import { guardAuthorization } from './guard-authorization.ts';
import { createKinds, kindSettings } from './kinds.ts';
import { indexingSubscriber } from './indexing.ts';
import { IndexBuilder } from '../engine/index-builder.ts';
import { createLive, createLiveSessions } from './live.ts';
import { createListeners } from './listeners.ts';
import { createCors, dispatchOptions, engineOptions } from './options.ts';
import { findUnreadSettings, requirePlugins, setUpPlugins, startAll, stopAll } from './plugins.ts';
import { createAuthorization, createPolicies } from './policies.ts';
import { createRateLimits } from './rate-limits.ts';
import { servedNames } from './served-names.ts';
import { createServers, type Servers } from './servers.ts';
import { untilReachable, type Patience } from './waiting.ts';

export interface ServiceOptions {
  readonly settings: Settings;
  readonly logger: Logger;
  /** Further plugins besides those that the setting `includes` names. */
  readonly plugins?: readonly Plugin[];
  readonly clock?: Clock;
  /** Makes the final decision on every access, in place of the setting `multiauth.authorization_policy`. */
  readonly authorization?: AuthorizationPolicy;
  /** Maximum wait for backends that cannot be reached yet; absent: none. */
  readonly patience?: Patience;
}

export interface Service {
  readonly settings: Settings;
  /** Listens on the configured addresses and resolves to the URL of the root view. */
  listen(): Promise<string>;
  /** The URL of the root view on the admin port, while the service listens on one. */
  readonly adminUrl: string | undefined;
  /** Responds to a request without a socket, in the same way as to one from a socket. */
  answer(request: ServiceRequest): Promise<ServiceResponse>;
  /**
   * Stops accepting connections, completes requests in flight, and closes the backends.
   *
   * @param options.lingerMs time for which idle connections stay open, when another process continues to serve their clients
   */
  close(options?: { readonly lingerMs: number }): Promise<void>;
}

/**
 * Builds a service from settings.
 *
 * @throws Error when it cannot start as configured, with the setting to change
 */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { settings, logger, clock = systemClock, patience } = options;
  const plugins = await requirePlugins(settings, options.plugins ?? []);
  const risks = [...findExposure(settings), ...findVolatility(settings), ...protectDataFiles(settings)];
  for (const warning of risks) logger.warn(warning);
  const open = (): Promise<OpenBackends> => openReady(settings, clock);
  try {
    const backends = await (patience === undefined ? open() : untilReachable(open, patience, logger));
    await compareSecrets(backends.storage, settings, logger);
    await warnOfFilling(backends.storage, logger);
    const observation = await openObservation(settings, logger, plugins);
    try {
      return await assemble({ ...options, clock }, plugins, observation.ofBackends(backends), observation);
    } catch (error) {
      await observation.close();
      await backends.close();
      throw error;
    }
  } finally {
    for (const warning of settings.warnings) logger.warn(warning);
  }
}

/** Opens the backends, and brings their schemas up to date or requires it. */
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
  /** Faults found before; they are thrown together with those found here. */
  readonly faults?: Faults;
}

/**
 * Assembles a service on open backends. It listens when `listen` is called.
 *
 * @throws Error when it cannot start as configured, with the setting to change
 */
export async function assemble(
  options: AssemblyOptions,
  plugins: readonly Plugin[],
  opened: OpenBackends,
  observation: Observation,
): Promise<Service> {
  const { settings, logger, clock, faults = new Faults() } = options;
  const live = createLive(settings, opened, logger, () => observation.observer);
  const order = new TimestampOrder(clock);
  const backends = { ...opened, commits: live, order };
  // Plugins are set up before the kinds are known, because they declare some of them.
  const kinds = new Map<string, CompiledKind>();
  const indexing = settings.get('readonly') ? undefined : new IndexBuilder({ stores: opened, kinds, logger });
  const host = createHost(options, backends, kinds, { live, indexing });
  const parts = await setUpPlugins(plugins, host, faults);
  observation.addPlugins(parts);
  for (const { ordersTimestampsOf } of parts) if (ordersTimestampsOf !== undefined) order.add(ordersTimestampsOf);
  const policies = observation.ofPolicies(createPolicies(host, parts, faults));
  const { ofKinds, isComplete } = await fillKinds(kinds, { ...options, faults }, host, parts, backends.hasPermissions);
  const knownKinds = isComplete && !faults.hasGaps ? kinds : undefined;
  const served = knownKinds === undefined ? undefined : servedNames(settings, knownKinds);
  for (const { line, problem } of await findUnreadSettings(settings, plugins, served)) {
    if (problem === undefined) logger.warn(line);
    else faults.add(new SettingsError([problem]));
  }
  const listeners = await createListeners(host, parts, knownKinds, faults);
  faults.throwAll();
  const servers = await start({
    host,
    backends,
    plugins,
    parts,
    kinds,
    ofKinds,
    policies,
    listeners,
    observation,
    indexing,
  });
  return runningService(settings, servers, live, async () => {
    await indexing?.stop();
    await stopAll([...parts, listeners], logger);
    await host.mailer.close();
    await observation.close();
    await backends.close();
  });
}

/** Creates the host of plugins, policies and listeners. */
function createHost(
  { settings, logger, clock }: AssemblyOptions,
  backends: OpenBackends,
  kinds: ReadonlyMap<string, CompiledKind>,
  { live, indexing }: { readonly live: LiveHub | undefined; readonly indexing: IndexBuilder | undefined },
): PluginHost {
  const { cache, securityState } = backends;
  const engine: EngineOptions = {
    ...engineOptions(settings, securityState, clock),
    searchesText: backends.storage.database.abilities.textSearch,
    indexing,
    isImpossibleGroup: (principal) => objects.isImpossibleGroup(principal),
    live,
  };
  const objects = new Objects(kinds, engine);
  return {
    settings,
    stores: backends,
    cache,
    securityState,
    clock,
    logger,
    mailer: openMailer(settings, logger),
    objects,
    openBlobStore,
    engine,
    versionPrefix: engine.versionPrefix,
    documentationUrl: (topic) => `${settings.get('project_docs')}#${topic}`,
  };
}

/** Adds all kinds to the map, and returns the settings that they have in common. Errors are added to the faults. */
async function fillKinds(
  kinds: Map<string, CompiledKind>,
  { authorization, faults }: Required<Pick<AssemblyOptions, 'faults'>> & Pick<AssemblyOptions, 'authorization'>,
  host: PluginHost,
  parts: readonly PluginParts[],
  hasPermissions: boolean,
): Promise<{ readonly ofKinds: KindSettings; readonly isComplete: boolean }> {
  const { settings } = host;
  // An unknown name may belong to a missing plugin, which is a reported fault already.
  const canLookUp = !faults.hasUnknownGaps;
  const find = (): Promise<AuthorizationPolicy | undefined> => createAuthorization(host, parts);
  const policy = authorization ?? (canLookUp ? await faults.attemptAsync(find) : undefined);
  const guard = {
    name: authorization === undefined ? settings.get('multiauth.authorization_policy') : 'of the program',
    timeoutSeconds: settings.get('authorization_timeout_seconds'),
  };
  const ofKinds = kindSettings(settings, parts, policy === undefined ? undefined : guardAuthorization(policy, guard));
  const compiled = canLookUp ? faults.attempt(() => createKinds(settings, ofKinds, parts)) : undefined;
  for (const [name, kind] of compiled ?? []) kinds.set(name, kind);
  if (!hasPermissions && [...kinds.values()].some(({ isShareable }) => isShareable)) {
    const message = 'permission_backend is empty, but shareable resources need one, such as buckets and their contents';
    faults.add(new Error(`${message} (unless built_in_kinds is false).`));
  }
  return { ofKinds, isComplete: compiled !== undefined };
}

interface Assembled extends EndpointSources {
  readonly observation: Observation;
  readonly indexing: IndexBuilder | undefined;
}

/** Starts plugins and listeners, and returns servers that are ready to listen. Stops them again when one fails. */
async function start(assembled: Assembled): Promise<Servers> {
  const { host, backends, plugins, parts, kinds, policies, listeners, observation, indexing } = assembled;
  const { settings, cache, clock, logger } = host;
  const rateLimits = createRateLimits(settings, { cache, clock, logger });
  const cors = createCors(settings, rateLimits);
  const liveSessions = createLiveSessions(settings, host, cors);
  const endpoints = createEndpoints(assembled, liveSessions);
  const subscribers = new Subscribers([
    ...observation.ofSubscribers(
      'plugins',
      parts.flatMap((part) => part.subscribers ?? []),
    ),
    ...observation.ofSubscribers('listeners', listeners.subscribers),
    ...(indexing === undefined ? [] : [indexingSubscriber(indexing)]),
  ]);
  const dispatching = dispatchOptions(settings, host, { policies, parts, cors, liveSessions });
  const principals = parts.flatMap((part) => (part.principals === undefined ? [] : [part.principals]));
  const { observer } = observation;
  const running = { stores: backends, subscribers, policies, principals, logger, observer, rateLimits };
  const idRules = idRulesOf(kinds);
  try {
    await startAll(plugins, parts);
    const servers = createServers({ settings, logger, endpoints, idRules, dispatching, running });
    await listeners.start();
    indexing?.start();
    return servers;
  } catch (error) {
    await stopAll([...parts, listeners], logger);
    throw error;
  }
}

/** @param closeRest closes everything but the servers */
function runningService(
  settings: Settings,
  servers: Servers,
  live: LiveHub | undefined,
  closeRest: () => Promise<void>,
): Service {
  let adminUrl: string | undefined;
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
      // Streams last, so the servers would wait for them.
      await live?.close();
      await servers.close(lingerMs);
      await closeRest();
    },
  };
}
