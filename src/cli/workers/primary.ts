// The primary process: supervises the workers and handles signals.
import { availableParallelism } from 'node:os';
import process from 'node:process';
import { SettingsError } from '../../settings/problems.ts';
import type { Settings } from '../../settings/settings.ts';
import { WorkerPool } from './pool.ts';

/** Returns the number of workers. */
export function countWorkers(settings: Settings): number {
  const workers = settings.get('workers');
  return workers === 'auto' ? availableParallelism() : workers;
}

/**
 * Runs the service in several processes. Ends this one after a signal, or when no worker can start.
 *
 * @param reload loads the settings again for a restart of the workers
 */
export async function superviseWorkers(settings: Settings, reload: () => Settings): Promise<void> {
  const { closeLogger, createLogger } = await import('../../observability/logger.ts');
  const logger = createLogger({
    level: settings.get('log_level'),
    format: settings.get('log_format'),
    name: settings.get('project_name'),
    showsPid: true,
  });
  (await import('../../app/worker-metrics.ts')).gatherWorkerMetrics();
  const pool = new WorkerPool({
    size: countWorkers(settings),
    shutdownTimeoutSeconds: settings.get('shutdown_timeout_seconds'),
    responseTimeoutSeconds: settings.get('worker_response_timeout_seconds'),
    logger,
  });
  let isStopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      logger.info({ signal }, 'Stopping workers');
      if (isStopping) pool.stopNow();
      else pool.stop();
      isStopping = true;
    });
  }
  const readSize = (): number | undefined => {
    try {
      return countWorkers(reload());
    } catch (error) {
      const reason = error instanceof SettingsError ? error.message : String(error);
      logger.error({ reason }, 'Restart cancelled: the settings are wrong');
      return undefined;
    }
  };
  for (const signal of ['SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => pool.restart(readSize));
  pool.start();
  const code = await pool.ended;
  await closeLogger(logger);
  process.exit(code);
}
