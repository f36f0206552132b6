// `coffer start`: runs the service until it is told to stop.
import cluster from 'node:cluster';
import { Command } from 'commander';
import type { Settings } from '../../settings/settings.ts';
import { loadForService, loadWith, type CommonOptions } from '../common.ts';
import { alone, serve } from '../serve.ts';
import { parsePort } from './init.ts';

interface StartOptions extends CommonOptions {
  readonly port?: number;
  readonly host?: string;
  readonly workers?: string;
}

const examples = `
Without a configuration file it runs with a safe profile: SQLite in ./data, a secret made once and kept there, Basic
authentication, a personal bucket for every user, reachable from this machine only.

It stops at SIGTERM or SIGINT (Ctrl+C): requests in flight are finished first. A second signal stops it at once.
With several workers, SIGHUP or SIGUSR2 exchanges them one after another while the service goes on; new ones read the
configuration anew.

Examples:
  coffer start
  coffer start --config config/coffer.ini
  coffer start --port 8000 --host 0.0.0.0
  coffer start --config config/coffer.ini --workers auto
  SVC_LOG_FORMAT=json coffer start
`;

/** The command. */
export function startCommand(): Command {
  return new Command('start')
    .description('run the service')
    .option('--port <number>', 'port to listen on (default: 8888)', parsePort)
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--workers <number>', 'processes that serve, or auto: one for each processor (default: 1)')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      await start(command.optsWithGlobals<StartOptions>());
    });
}

async function start(options: StartOptions): Promise<void> {
  const overrides = { http_port: options.port?.toString(), host: options.host, workers: options.workers };
  const settings = await loadForService(options, overrides);
  if (cluster.isWorker) {
    const { releaseChannel, worker } = await import('../workers/worker.ts');
    await serve(settings, worker).finally(releaseChannel);
  } else if (settings.get('workers') === 1) {
    await serve(settings, alone);
  } else {
    const { superviseWorkers } = await import('../workers/primary.ts');
    await superviseWorkers(settings, (): Settings => loadWith(options, overrides));
  }
}
