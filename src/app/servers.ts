// The servers of the service: the public port, and the port of operators when it is configured.
import type { Logger } from '../contracts/logger.ts';
import type { Endpoint } from '../engine/endpoint.ts';
import { Dispatcher, type DispatchOptions } from '../http/dispatch.ts';
import { LoadShedder } from '../http/load-shedder.ts';
import type { IdRules } from '../http/path-rules.ts';
import { createRouter } from '../http/router.ts';
import type { RunnerOptions } from '../http/runner.ts';
import { createServer } from '../http/server.ts';
import { isEveryAddress } from '../settings/loopback.ts';
import type { Settings } from '../settings/settings.ts';
import { serverLimits } from './options.ts';

export interface Servers {
  /** For requests to the public port. */
  readonly runner: RunnerOptions;
  /** Listens on the configured addresses and resolves to the URLs of the root view. */
  listen(): Promise<{ readonly url: string; readonly adminUrl: string | undefined }>;
  /** Stops accepting connections; resolves when all requests in flight are completed. */
  close(lingerMs: number): Promise<void>;
}

export interface ServersOptions {
  readonly settings: Settings;
  readonly logger: Logger;
  /** All endpoints of the service. */
  readonly endpoints: readonly Endpoint[];
  /** Rules for ids, by the name of the id in paths. */
  readonly idRules: IdRules;
  readonly dispatching: Omit<DispatchOptions, 'router'>;
  readonly running: Omit<RunnerOptions, 'dispatcher'>;
}

/** Returns the endpoints of the public port, without those of operators when they have a port of their own. */
export function publicEndpoints(settings: Settings, endpoints: readonly Endpoint[]): readonly Endpoint[] {
  if (settings.get('admin_port') === undefined) return endpoints;
  return endpoints.filter(({ isForOperators }) => isForOperators !== true);
}

/** Creates servers that are ready to listen. */
export function createServers(options: ServersOptions): Servers {
  const { settings, logger, endpoints, idRules, dispatching, running } = options;
  const limits = serverLimits(settings);
  const runnerOf = (served: readonly Endpoint[]): RunnerOptions => ({
    ...running,
    dispatcher: new Dispatcher({ ...dispatching, router: createRouter(served, idRules) }),
  });
  const runner = runnerOf(publicEndpoints(settings, endpoints));
  const vital = vitalPaths(endpoints, dispatching.place);
  const maxUnderWay = settings.get('max_requests_under_way');
  const load = new LoadShedder({
    maxUnderWay,
    maxOfAddress: settings.get('max_requests_under_way_per_address') ?? Math.ceil(maxUnderWay / 2),
    maxDelayMs: settings.get('max_event_loop_delay_ms'),
    vitalPaths: vital,
    logger,
    observer: running.observer,
  });
  const ownHosts = [settings.get('http_host') ?? '', ...namedAddress(settings.get('host'))];
  const server = createServer({ ...limits, vitalPaths: vital, ownHosts, runner, load });
  const adminPort = settings.get('admin_port');
  // Operators reach an overloaded service: requests to their port are neither counted nor refused.
  const adminServer =
    adminPort === undefined
      ? undefined
      : createServer({
          ...limits,
          vitalPaths: vital,
          ownHosts: [...ownHosts, ...namedAddress(settings.get('admin_host'))],
          maxConnectionsPerAddress: 0,
          runner: { ...runnerOf(endpoints), rateLimits: undefined },
        });
  const { versionPrefix } = dispatching.place;
  return {
    runner,
    async listen() {
      const adminAddress = await adminServer?.listen({ host: settings.get('admin_host'), port: adminPort ?? 0 });
      const address = await server.listen({ host: settings.get('host'), port: settings.get('http_port') });
      load.start();
      const adminUrl = adminAddress === undefined ? undefined : `${adminAddress}${versionPrefix}/`;
      return { url: `${address}${versionPrefix}/`, adminUrl };
    },
    async close(lingerMs) {
      load.stop();
      await Promise.all([server.close(lingerMs), adminServer?.close(lingerMs)]);
    },
  };
}

/** Returns a listening address if clients can use it as a host. */
function namedAddress(host: string): readonly string[] {
  return isEveryAddress(host) ? [] : [host];
}

/** Returns the paths that accept any host, with and without the version. */
function vitalPaths(
  endpoints: readonly Endpoint[],
  { pathPrefix, versionPrefix }: DispatchOptions['place'],
): ReadonlySet<string> {
  const paths = endpoints.filter(({ isVital }) => isVital === true).map(({ path }) => path);
  return new Set(['', pathPrefix, versionPrefix].flatMap((prefix) => paths.map((path) => prefix + path)));
}
