// Serving until told to stop: what a process that serves alone and one of several workers have in common.
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import type { Service } from '../app/service.ts';
import type { Settings } from '../settings/settings.ts';
import { formatBanner, wantsBanner } from './banner.ts';
import { Exit, exitCodes } from './exit-codes.ts';

/** Why to stop, and how. */
export interface Order {
  /** For the log. */
  readonly reason: string;
  /** Time for which idle connections are kept, when others go on serving their clients. */
  readonly lingerMs: number;
}

/** What a process is besides a server, and by that whom it obeys. */
export interface Role {
  /** Whether it shows people at a terminal where the service is; of several processes one does. */
  readonly showsBanner: boolean;
  /** Whether there are several processes, so that log lines tell them apart. */
  readonly isOneOfMany: boolean;
  /** Resolves when it shall stop; further orders may call the function. */
  waitForOrder(stopAtOnce: () => void): Promise<Order>;
  /** Called when it listens. */
  noteListening(url: string): void;
  /** Called when everything is answered. */
  takeLeave(): Promise<void>;
}

/** Runs the service; ends the process when it is told to stop, and throws when it cannot start. */
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
  // The last resort: what state the process is in is not known then, but the log says why it ended.
  process.on('uncaughtException', (error) => {
    logger.error({ err: error }, 'Ended by an unexpected error');
    exit(exitCodes.failed);
  });
  const told = role.waitForOrder(() => exit(exitCodes.failed));
  const isTold = new AbortController();
  void told.then(() => isTold.abort());
  const patience = { seconds: settings.get('startup_timeout_seconds'), signal: isTold.signal };
  const service = await Promise.race([createService({ settings, logger, patience }), told.then(() => undefined)]);
  if (service === undefined) {
    logger.info('Stopped before it listened');
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
    if (service.adminUrl !== undefined)
      logger.info({ url: service.adminUrl }, 'Listening for those who run the service');
  }
  role.noteListening(url);
  const order = await told;
  logger.info({ signal: order.reason }, 'Stopping');
  const isClosed = await closeWithin(service, settings.get('shutdown_timeout_seconds'), order);
  if (isClosed) logger.info('Stopped');
  else logger.error('Requests in flight were cut off: they took longer than shutdown_timeout_seconds');
  await role.takeLeave();
  // Whatever is still open now must not keep the process from ending.
  exit(isClosed ? exitCodes.done : exitCodes.failed);
}

async function listen(service: Service): Promise<string> {
  try {
    return await service.listen();
  } catch (error) {
    await service.close();
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // Both ports fail alike; the error knows which.
    const at = { host: service.settings.get('host'), port: service.settings.get('http_port'), ...placeOf(error) };
    const { host, port } = at;
    const means = port === service.settings.get('http_port') ? '--port' : 'admin_port';
    switch (code) {
      case 'EADDRINUSE':
        throw new Exit(
          exitCodes.failed,
          `port ${port} of ${host} is in use; choose another with ${means}, or stop what uses it`,
        );
      case 'EACCES':
        throw new Exit(exitCodes.failed, `port ${port} needs more rights; choose one above 1023 with ${means}`);
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        throw new Exit(exitCodes.failed, `${host} is no address of this machine; choose another with --host`);
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

/** Whether everything in flight was finished in time. */
async function closeWithin(service: Service, seconds: number, { lingerMs }: Order): Promise<boolean> {
  const closed = service.close({ lingerMs }).then(() => true);
  return Promise.race([closed, wait(lingerMs + seconds * 1000, false, { ref: false })]);
}

/** A process that serves alone obeys signals: the first to stop, the second to stop at once. */
export const alone: Role = {
  showsBanner: true,
  isOneOfMany: false,
  waitForOrder(stopAtOnce) {
    return new Promise((resolve) => {
      let isTold = false;
      const take = (signal: string): void => {
        if (isTold) stopAtOnce();
        isTold = true;
        resolve({ reason: signal, lingerMs: 0 });
      };
      process.on('SIGTERM', take);
      process.on('SIGINT', take);
    });
  },
  noteListening: () => undefined,
  takeLeave: () => Promise.resolve(),
};
