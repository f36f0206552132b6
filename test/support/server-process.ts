// A real server in a process of its own, as a user starts it, for tests that kill it or look at what it leaves behind.
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freeze } from './frozen-process.ts';
import { requireRedisUrl } from './redis.ts';

const executable = fileURLToPath(new URL('../../bin/coffer.js', import.meta.url));

export type Backend = 'memory' | 'sqlite' | 'postgresql' | 'redis';
export const backends: readonly Backend[] = ['memory', 'sqlite', 'postgresql', 'redis'];

/** An empty folder for one test, with an empty configuration file in it. */
export class Workspace {
  readonly folder: string;
  readonly config: string;

  private constructor(folder: string) {
    this.folder = folder;
    this.config = join(folder, 'empty.ini');
  }

  static async create(): Promise<Workspace> {
    const workspace = new Workspace(await mkdtemp(join(tmpdir(), 'coffer-test-')));
    await writeFile(workspace.config, '');
    return workspace;
  }

  /**
   * Environment that puts everything on one backend.
   *
   * @param url of a PostgreSQL database with tables; SQLite's is below the folder, Redis is the one of the tests
   */
  environment(backend: Backend, url?: string): Record<string, string> {
    const own = backend === 'redis' ? requireRedisUrl() : join(this.folder, 'coffer.sqlite3');
    const place = url ?? own;
    return {
      SVC_USERID_HMAC_SECRET: 'secret of the tests',
      SVC_MULTIAUTH_POLICIES: 'basicauth',
      SVC_LOG_LEVEL: 'error',
      SVC_REDIS_PREFIX: `${basename(this.folder)}:`,
      SVC_STORAGE_BACKEND: backend,
      SVC_PERMISSION_BACKEND: backend,
      SVC_CACHE_BACKEND: backend,
      ...(backend === 'memory' ? {} : { SVC_STORAGE_URL: place, SVC_PERMISSION_URL: place, SVC_CACHE_URL: place }),
    };
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** A line of the log of a process. */
export interface LoggedLine {
  readonly Type: string;
  readonly Severity: number;
  readonly Fields?: Readonly<Record<string, unknown>>;
}

/** Starts `coffer start --config …`, which logs every request as JSON; on a free port unless one is given. */
export function spawnServer(
  { config, folder }: Workspace,
  environment: Readonly<Record<string, string>>,
  stdio: StdioOptions,
  port = 0,
): ChildProcess {
  return spawn(process.execPath, [executable, 'start', '--config', config, '--port', String(port)], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...environment, SVC_LOG_LEVEL: 'info', SVC_LOG_FORMAT: 'json' },
    stdio,
  });
}

export class ServerProcess {
  /** Root of the protocol, without trailing slash: `http://127.0.0.1:40123/v1`. */
  readonly url: string;
  /** What it has logged so far. */
  readonly log: readonly LoggedLine[];
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  private constructor(url: string, child: ChildProcess, log: readonly LoggedLine[]) {
    this.url = url;
    this.log = log;
    this.#child = child;
    this.#exited = once(child, 'exit');
  }

  /** Starts `coffer start --config …` on a free port and waits until it says that it listens. */
  static async start(workspace: Workspace, environment: Record<string, string>): Promise<ServerProcess> {
    const child = spawnServer(workspace, environment, ['ignore', 'pipe', 'pipe']);
    const log: LoggedLine[] = [];
    createInterface({ input: child.stdout! }).on('line', (line) => {
      // A process that is killed may leave a part of its last line.
      if (!child.killed || line.endsWith('}')) log.push(JSON.parse(line) as LoggedLine);
    });
    return new ServerProcess(await listeningUrl(child), child, log);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Stops the process where it stands. */
  pause(): Promise<void> {
    return freeze(this.pid);
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** Ends the process at once, as a power cut would. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** Asks the process to stop and answers with its exit code. */
  async stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    await this.#exited;
    return this.#child.exitCode;
  }
}

async function listeningUrl(child: ChildProcess): Promise<string> {
  let output = '';
  return new Promise((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const url = /http:\/\/127\.0\.0\.1:\d+\/v1/.exec(output)?.[0];
      if (url !== undefined) resolve(url);
    };
    child.stdout!.on('data', read);
    child.stderr!.on('data', read);
    child.once('exit', (code) => reject(new Error(`the server ended with ${code} before it listened:\n${output}`)));
  });
}
