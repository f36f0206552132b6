// `coffer start`: runs the service until a signal stops it.
import cluster from 'node:cluster';
import { Command } from 'commander';
import type { Settings } from '../../settings/settings.ts';
import { loadForService, loadWith, type CommonOptions } from '../common.ts';
import { singleProcess, serve } from '../serve.ts';
import { parsePort } from './init.ts';

interface StartOptions extends CommonOptions {
  readonly port?: number;
  readonly host?: string;
  readonly workers?: string;
}

const examples = `
Without a configuration file the service uses a safe profile: SQLite and a generated secret in ./data, Basic authentication,
a personal bucket for each user, reachable from this machine only. The folder data is made in the current folder. To keep data
elsewhere, start there, or write a configuration file with coffer init.

SIGTERM or SIGINT (Ctrl+C) stops the service after the requests in flight; a second signal stops it at once. With several
workers, SIGHUP or SIGUSR2 restarts them one by one with the current configuration, without downtime.

Examples:
  coffer start
  coffer start --config config/coffer.ini
  coffer start --port 8000 --host 0.0.0.0
  coffer start --config config/coffer.ini --workers auto
  SVC_LOG_FORMAT=json coffer start
`;

export function startCommand(): Command {
  return new Command('start')
    .description('run the service')
    .option('--port <number>', 'listening port (default: 8888)', parsePort)
    .option('--host <address>', 'listening address (default: 127.0.0.1)')
    .option('--workers <number>', 'number of worker processes; auto means one per processor (default: 1)')
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
    await serve(settings, singleProcess);
  } else {
    const { superviseWorkers } = await import('../workers/primary.ts');
    await superviseWorkers(settings, (): Settings => loadWith(options, overrides));
  }
}
