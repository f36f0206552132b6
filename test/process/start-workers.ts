// Starts a service with several workers on a store of its own.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { start, workingFolder, type LogLine, type RunningService } from '../cli/process.ts';
import { databaseSettings } from '../support/backends.ts';
import { inExtent } from '../support/extent.ts';
import { cloneDatabase } from '../support/postgresql.ts';
import { requireRedisUrl } from '../support/redis.ts';

/** Where several processes may keep their data together. */
export type Backend = 'postgresql' | 'redis';
export const backends: readonly Backend[] = inExtent(['postgresql'], ['postgresql', 'redis']);

export interface Started extends RunningService {
  readonly cwd: string;
  /** Writes the configuration again with further lines. */
  configure(lines?: Readonly<Record<string, string>>): void;
}

/** Settings of a store that is empty, and gone after the test or out of reach. */
async function emptyStore(backend: Backend): Promise<Readonly<Record<string, string>>> {
  if (backend === 'redis') {
    const url = requireRedisUrl();
    return { ...databaseSettings('redis', url), redis_prefix: `workers-${randomUUID()}:` };
  }
  const { url, drop } = await cloneDatabase();
  onTestFinished(drop);
  return { ...databaseSettings('postgresql', url), storage_pool_size: '5' };
}

export async function startWorkers(
  count: number,
  more: Readonly<Record<string, string>> = {},
  backend: Backend = 'postgresql',
): Promise<Started> {
  const store = await emptyStore(backend);
  const cwd = workingFolder();
  const configure = (lines: Readonly<Record<string, string>> = {}): void => {
    const settings = {
      ...store,
      userid_hmac_secret: 'secret of the tests',
      'multiauth.policies': 'basicauth',
      workers: String(count),
      ...more,
      ...lines,
    };
    const text = Object.entries(settings).map(([key, value]) => `${key} = ${value}`);
    writeFileSync(join(cwd, 'coffer.ini'), `[app:main]\n${text.join('\n')}\n`);
  };
  configure();
  const service = await start(['--config', 'coffer.ini'], { cwd, environment: { SVC_LOG_FORMAT: 'json' } });
  await service.logged('All workers listen');
  // Each process writes its lines when it gets to it.
  await service.loggedCount('Listening', count);
  return { ...service, cwd, configure };
}

/** The lines of workers that listen. */
export const listening = ({ log }: RunningService): readonly LogLine[] =>
  log.filter(({ Type }) => Type === 'Listening');
export const pidsOf = (lines: readonly LogLine[]): ReadonlySet<number> => new Set(lines.map(({ Pid }) => Pid));

/** Opens a connection. */
export async function open(port: number, host = '127.0.0.1'): Promise<Socket> {
  const socket = connect(port, host);
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}
