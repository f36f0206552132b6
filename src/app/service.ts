// The composition root: settings in, running service out. Everything is put together here and nowhere else.
import { systemClock, type Clock } from '../base/clock.ts';
import type { Logger } from '../contracts/logger.ts';
import { compileKinds } from '../engine/compiled-kind.ts';
import type { Endpoint } from '../engine/endpoint.ts';
import type { ServiceRequest, ServiceResponse } from '../engine/exchange.ts';
import { resourceEndpoints } from '../engine/resource-endpoints.ts';
import { Announcements } from '../http/announcements.ts';
import { batchEndpoint } from '../http/batch.ts';
import { Cors } from '../http/cors.ts';
import { Dispatcher } from '../http/dispatch.ts';
import type { Plugin, PluginParts } from '../http/plugin.ts';
import { createRouter } from '../http/router.ts';
import { runRequest } from '../http/runner.ts';
import { createServer } from '../http/server.ts';
import { builtInKinds } from '../resources/kinds.ts';
import type { Settings } from '../settings/settings.ts';
import { openBackends, type OpenBackends } from './backends.ts';
import { healthChecks } from './health.ts';
import { engineOptions, errorOptions, kindSettings, redirectOptions, serverLimits } from './options.ts';
import { openMailer } from './mail.ts';
import { createPolicies } from './policies.ts';
import { setUpPlugins } from './plugins.ts';
import { prepareSchemas } from './schemas.ts';
import { utilityEndpoints, type Capabilities } from './utilities.ts';

export interface ServiceOptions {
  readonly settings: Settings;
  readonly logger: Logger;
  /** Beside those that the setting `includes` names. */
  readonly plugins?: readonly Plugin[];
  readonly clock?: Clock;
}

export interface Service {
  readonly settings: Settings;
  /** Listens on the configured address and resolves to the URL of the root view. */
  listen(): Promise<string>;
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
  const { settings, logger, clock = systemClock } = options;
  const backends = await openBackends(settings, clock);
  try {
    await prepareSchemas(backends);
    return assemble({ ...options, clock }, backends);
  } catch (error) {
    await backends.close();
    throw error;
  } finally {
    for (const warning of settings.warnings) logger.warn(warning);
  }
}

function assemble(options: ServiceOptions & { readonly clock: Clock }, backends: OpenBackends): Service {
  const { settings, logger, clock } = options;
  const { cache } = backends;
  const documentationUrl = (topic: string): string => `${settings.get('project_docs')}#${topic}`;
  const mailer = openMailer(settings, logger);
  const host = { settings, stores: backends, cache, clock, logger, mailer, documentationUrl };
  const parts = setUpPlugins(settings, options.plugins ?? [], host);
  for (const line of settings.findUnknownKeys()) logger.warn(line);
  const policies = createPolicies(settings, cache, parts);

  const ofKinds = kindSettings(settings);
  const resources = {
    cacheSeconds: ofKinds.cacheSeconds,
    validatesSchemas: settings.get('experimental_collection_schema_validation'),
  };
  const shareable = backends.hasPermissions ? builtInKinds(resources) : [];
  const kinds = compileKinds([...shareable, ...parts.flatMap((part) => part.kinds ?? [])], ofKinds);
  if (!backends.hasPermissions && [...kinds.values()].some(({ isShareable }) => isShareable)) {
    throw new Error('permission_backend is empty, but shareable resources need one.');
  }
  const engine = engineOptions(settings, cache, clock);

  const endpoints: Endpoint[] = [];
  endpoints.push(
    ...utilityEndpoints({
      settings,
      logger,
      kinds,
      engine,
      policies,
      capabilities: collectCapabilities(parts),
      userInfo: parts.flatMap(({ userInfo }) => (userInfo === undefined ? [] : [userInfo])),
      checks: healthChecks(backends, settings, parts),
      endpoints: () => endpoints,
      documentationUrl,
    }),
    batchEndpoint({ maxRequests: settings.get('batch_max_requests') ?? 0, versionPrefix: engine.versionPrefix }),
    ...resourceEndpoints(
      kinds.values(),
      engine,
      ofKinds,
      parts.flatMap((part) => part.actions ?? []),
    ),
    ...parts.flatMap((part) => part.endpoints ?? []),
  );

  const { versionPrefix } = engine;
  const eos = settings.get('eos');
  const dispatcher = new Dispatcher({
    router: createRouter(endpoints),
    aliases: parts.flatMap((part) => part.aliases ?? []),
    cors: new Cors({ origins: settings.get('cors_origins'), maxAgeSeconds: settings.get('cors_max_age_seconds') }),
    clock,
    logger,
    errors: errorOptions(settings, policies),
    redirects: redirectOptions(settings),
    announcements: new Announcements(
      {
        backoffSeconds: settings.get('backoff'),
        backoffPercentage: settings.get('backoff_percentage'),
        endOfService: eos?.time,
        endOfServiceMessage: settings.get('eos_message') ?? '',
        endOfServiceUrl: settings.get('eos_url') ?? settings.get('project_docs'),
      },
      clock,
    ),
    versionPrefix,
    readonly: settings.get('readonly'),
    unversionedPaths: new Set(['/__heartbeat__', '/__lbheartbeat__', '/__version__']),
  });
  const runner = { dispatcher, stores: backends, policies, logger };
  const server = createServer({ runner, dispatcher, logger, ...serverLimits(settings) });
  return {
    settings,
    async listen() {
      const address = await server.listen({ host: settings.get('host'), port: settings.get('http_port') });
      return `${address}${versionPrefix}/`;
    },
    answer: async (request) => (await runRequest(runner, request)).response,
    async close({ lingerMs } = { lingerMs: 0 }) {
      await server.close(lingerMs);
      await mailer.close();
      await backends.close();
    },
  };
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
