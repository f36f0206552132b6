// `coffer start`: runs the service until it is told to stop.
import process from 'node:process';
import { Command } from 'commander';
import type { Service } from '../../app/service.ts';
import { loadWith, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { parsePort } from './init.ts';

interface StartOptions extends CommonOptions {
  readonly port?: number;
  readonly host?: string;
}

const examples = `
Without a configuration file it runs with a safe profile: SQLite in ./data, a secret made once and kept there, Basic
authentication, a personal bucket for every user, reachable from this machine only.

It stops at SIGTERM or SIGINT (Ctrl+C): requests in flight are finished first. A second signal stops it at once.

Examples:
  coffer start
  coffer start --config config/coffer.ini
  coffer start --port 8000 --host 0.0.0.0
  SVC_LOG_FORMAT=json coffer start
`;

/** The command. */
export function startCommand(): Command {
  return new Command('start')
    .description('run the service')
    .option('--port <number>', 'port to listen on (default: 8888)', parsePort)
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      await start(command.optsWithGlobals<StartOptions>());
    });
}

async function start(options: StartOptions): Promise<void> {
  const settings = loadWith(options, { http_port: options.port?.toString(), host: options.host });
  const { closeLogger, createLogger } = await import('../../app/logger.ts');
  const { createService } = await import('../../app/service.ts');
  const logger = createLogger({
    level: settings.get('log_level'),
    format: settings.get('log_format'),
    name: settings.get('project_name'),
  });
  const exit = (code: number): void => void closeLogger(logger).then(() => process.exit(code));
  const told = waitForSignal(() => exit(exitCodes.failed));
  const service = await createService({ settings, logger });
  const url = await listen(service);
  logger.info({ url, config: settings.file?.name ?? null }, 'Listening');
  const signal = await told;
  logger.info({ signal }, 'Stopping');
  const isClosed = await closeWithin(service, settings.get('shutdown_timeout_seconds'));
  if (isClosed) logger.info('Stopped');
  else logger.error('Requests in flight were cut off: they took longer than shutdown_timeout_seconds');
  // Whatever is still open now must not keep the process from ending.
  exit(isClosed ? exitCodes.done : exitCodes.failed);
}

async function listen(service: Service): Promise<string> {
  try {
    return await service.listen();
  } catch (error) {
    await service.close();
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const host = service.settings.get('host');
    const port = service.settings.get('http_port');
    switch (code) {
      case 'EADDRINUSE':
        throw new Exit(
          exitCodes.failed,
          `port ${port} of ${host} is in use; choose another with --port, or stop what uses it`,
        );
      case 'EACCES':
        throw new Exit(exitCodes.failed, `port ${port} needs more rights; choose one above 1023 with --port`);
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        throw new Exit(exitCodes.failed, `${host} is no address of this machine; choose another with --host`);
      default:
        throw error;
    }
  }
}

/** Whether everything in flight was finished in time. */
async function closeWithin(service: Service, seconds: number): Promise<boolean> {
  const late = new Promise<false>((resolve) => {
    setTimeout(resolve, seconds * 1000, false).unref();
  });
  return Promise.race([service.close().then(() => true), late]);
}

/** The first signal to stop; the second one means at once. */
function waitForSignal(stopAtOnce: () => void): Promise<string> {
  return new Promise((resolve) => {
    let isTold = false;
    const take = (signal: string): void => {
      if (isTold) stopAtOnce();
      isTold = true;
      resolve(signal);
    };
    process.on('SIGTERM', take);
    process.on('SIGINT', take);
  });
}
