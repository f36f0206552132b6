// Runs the service until a stop request, in a single process or in a worker.
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import type { Service } from '../app/service.ts';
import { codeOf } from '../base/system-errors.ts';
import type { Settings } from '../settings/settings.ts';
import { formatBanner, wantsBanner } from './banner.ts';
import { Exit, exitCodes } from './exit-codes.ts';

/** A request to stop the service. */
export interface StopRequest {
  /** Reason for the log. */
  readonly reason: string;
  /** Time for which idle connections are kept open, while other workers serve new ones. */
  readonly lingerMs: number;
}

/** The role of a process: single, or one of several workers. */
export interface Role {
  /** Whether the process may show the banner; only one of several does. */
  readonly showsBanner: boolean;
  /** Whether log lines name the process. */
  readonly isOneOfMany: boolean;
  /** Resolves with the first stop request; later ones may call the function. */
  waitForStop(stopAtOnce: () => void): Promise<StopRequest>;
  /** Called when the service listens. */
  noteListening(url: string): void;
  /** Called when all requests are completed. */
  finish(): Promise<void>;
}

/** Runs the service; ends the process after a stop request, and throws when the service cannot start. */
export async function serve(settings: Settings, role: Role): Promise<void> {
  const { closeLogger, createLogger } = await import('../observability/logger.ts');
  const { createService } = await import('../app/service.ts');
  const logger = createLogger({
    level: settings.get('log_level'),
    format: settings.get('log_format'),
    name: settings.get('project_name'),
    showsPid: role.isOneOfMany,
  });
  const exit = (code: number): void => void closeLogger(logger).then(() => process.exit(code));
  // The state of the process is unknown after an uncaught exception, so it ends.
  process.on('uncaughtException', (error) => {
    logger.error({ err: error }, 'Exiting after an unexpected error');
    exit(exitCodes.failed);
  });
  const stopRequest = role.waitForStop(() => exit(exitCodes.failed));
  const stopping = new AbortController();
  void stopRequest.then(() => stopping.abort());
  const patience = { seconds: settings.get('startup_timeout_seconds'), signal: stopping.signal };
  const service = await Promise.race([
    createService({ settings, logger, patience }),
    stopRequest.then(() => undefined),
  ]);
  if (service === undefined) {
    logger.info('Stopped before listening');
    exit(exitCodes.done);
    return;
  }
  const url = await listen(service);
  if (role.showsBanner && wantsBanner(settings)) {
    const { describePlace } = await import('../transfer/copy/places.ts');
    process.stdout.write(
      formatBanner({ settings, url, adminUrl: service.adminUrl, places: describePlace({ settings }) }),
    );
  } else {
    logger.info({ url, config: settings.file?.name ?? null }, 'Listening');
    if (service.adminUrl !== undefined) logger.info({ url: service.adminUrl }, 'Listening on the admin port');
  }
  role.noteListening(url);
  const stop = await stopRequest;
  logger.info({ signal: stop.reason }, 'Stopping');
  const isClosed = await closeWithin(service, settings.get('shutdown_timeout_seconds'), stop);
  if (isClosed) logger.info('Stopped');
  else logger.error('Requests in flight were aborted: they took longer than shutdown_timeout_seconds');
  await role.finish();
  // Open handles must not keep the process alive.
  exit(isClosed ? exitCodes.done : exitCodes.failed);
}

async function listen(service: Service): Promise<string> {
  try {
    return await service.listen();
  } catch (error) {
    await service.close();
    // The error names the port: either of the two can fail.
    const at = { host: service.settings.get('host'), port: service.settings.get('http_port'), ...placeOf(error) };
    const { host, port } = at;
    const means = port === service.settings.get('http_port') ? '--port' : 'admin_port';
    switch (codeOf(error)) {
      case 'EADDRINUSE':
        throw new Exit(
          exitCodes.failed,
          `port ${port} of ${host} is in use; choose another one with ${means}, or stop the program that uses it`,
        );
      case 'EACCES':
        throw new Exit(
          exitCodes.failed,
          `no permission to listen on port ${port}; choose one above 1023 with ${means}`,
        );
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        throw new Exit(exitCodes.failed, `${host} is not an address of this machine; choose another one with --host`);
      default:
        throw error;
    }
  }
}

function placeOf(error: unknown): { readonly host?: string; readonly port?: number } {
  if (!(error instanceof Error) || !('port' in error) || typeof error.port !== 'number') return {};
  return 'address' in error && typeof error.address === 'string'
    ? { host: error.address, port: error.port }
    : { port: error.port };
}

/** Closes the service; returns whether all requests were completed in time. */
async function closeWithin(service: Service, seconds: number, { lingerMs }: StopRequest): Promise<boolean> {
  const closed = service.close({ lingerMs }).then(() => true);
  return Promise.race([closed, wait(lingerMs + seconds * 1000, false, { ref: false })]);
}

/** The role of a single process: the first signal stops it, the second one at once. */
export const singleProcess: Role = {
  showsBanner: true,
  isOneOfMany: false,
  waitForStop(stopAtOnce) {
    return new Promise((resolve) => {
      let isStopping = false;
      const take = (signal: string): void => {
        if (isStopping) stopAtOnce();
        isStopping = true;
        resolve({ reason: signal, lingerMs: 0 });
      };
      process.on('SIGTERM', take);
      process.on('SIGINT', take);
    });
  },
  noteListening: () => undefined,
  finish: () => Promise.resolve(),
};
