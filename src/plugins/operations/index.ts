// Plugin `operations`: endpoints for operators below `/operations`, with one check of access for all of them. See
// docs/reference/http-api/operations.md.
import { EVERYONE, toPrincipals } from '../../core/permissions/principals.ts';
import { definePlugin, type OperatorAreas, type PluginHost, type PluginParts } from '../../http/plugin.ts';
import { keepLines } from '../../observability/logger.ts';
import { LogRing, type LogQuery } from '../../observability/log-ring.ts';
import { describeAccess, guardEndpoint, type OperatorAccess } from './access.ts';
import { Backups, backupEndpoint } from './backups.ts';
import { Figures, type ProcessReport } from './figures.ts';
import { logEndpoint, reportLines, type LogReport } from './log-lines.ts';
import { overviewEndpoint } from './overview.ts';
import { operationsSettings } from './settings.ts';
import { settingsEndpoint } from './settings-list.ts';
import { slowEndpoint, SlowRequests, type SlowRequest } from './slow-requests.ts';
import { StoreFigures } from './store-figures.ts';
import { Processes } from './processes.ts';

export const operations = definePlugin({ name: 'operations', settings: operationsSettings, setup });

function setup(host: PluginHost): PluginParts {
  const { settings, stores, clock, logger, documentationUrl } = host;
  const own = settings.read(operationsSettings);
  const access: OperatorAccess = {
    readers: new Set(toPrincipals(own.operations_read_principals)),
    writers: new Set(toPrincipals(own.operations_write_principals)),
  };
  const ring = new LogRing(own.operations_log_bytes, () => clock.now());
  const hasLog = keepLines(logger, ring);
  const figures = new Figures(clock, Processes.worker);
  const slow = new SlowRequests(clock);
  const ofStores = new StoreFigures(stores, clock, logger);
  const backups = new Backups({
    stores,
    clock,
    logger,
    folder: own.operations_backup_folder,
    keep: own.operations_backup_keep,
  });
  const processes = new Processes((query) => {
    switch (query.of) {
      case 'figures':
        return figures.report();
      case 'slow':
        return slow.report();
      case 'log':
        return reportLines(ring, query.query);
    }
  });
  const askSlow = async (): Promise<readonly SlowRequest[]> =>
    ((await processes.ask({ of: 'slow' })) as readonly (readonly SlowRequest[])[]).flat();
  const askLog = async (query: LogQuery): Promise<readonly LogReport[]> =>
    (await processes.ask({ of: 'log', query })) as readonly LogReport[];
  const askFigures = async (): Promise<readonly ProcessReport[]> =>
    (await processes.ask({ of: 'figures' })) as readonly ProcessReport[];
  const forEveryone = describeAccess(access, { knownPrincipals: [EVERYONE] });
  let areas: readonly string[] = [];
  return {
    observer: {
      observe(observation) {
        const now = clock.now();
        figures.observe(observation, now);
        slow.observe(observation, now);
        if (observation.kind === 'event-loop') ofStores.note();
      },
    },
    capabilities: {
      operations: () => ({
        description: 'Endpoints for operators below /operations.',
        url: documentationUrl('operations'),
        areas,
        ...(forEveryone === undefined ? {} : { public: { ...forEveryone } }),
      }),
    },
    userInfo(caller) {
      const allowed = describeAccess(access, caller);
      return allowed === undefined ? {} : { operations: { ...allowed } };
    },
    openAreas({ areas: others, checkHealth, listSettings }) {
      const all: OperatorAreas = {
        overview: [overviewEndpoint({ host, stores: ofStores, checkHealth, askProcesses: askFigures })],
        ...(hasLog ? { log: [logEndpoint(host.versionPrefix, askLog)] } : {}),
        slow: [slowEndpoint(askSlow)],
        settings: [settingsEndpoint(listSettings)],
        ...others,
        backups: [backupEndpoint(backups)],
      };
      areas = Object.keys(all);
      return Object.values(all).flatMap((endpoints) => endpoints.map((endpoint) => guardEndpoint(endpoint, access)));
    },
    async start() {
      ofStores.start();
      await processes.start();
    },
    async stop() {
      processes.stop();
      await Promise.all([ofStores.stop(), backups.stop()]);
    },
  };
}
