// Real Redis servers for tests: found on the machine, or fetched once from Debian's archive, and started on free ports with
// folders of their own. TEST_REDIS_URL names a server to use instead, TEST_REDIS_BINARY a program.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findProgram, type Program } from './debian-program.ts';
import { freeze } from './frozen-process.ts';
import { MissingProgram } from './missing-program.ts';

/** Packages that the server of Debian's archive needs in addition to the C library. */
const packages = [
  'redis-tools',
  'redis-server',
  'libjemalloc2',
  'liblua5.1-0',
  'liblzf1',
  'libatomic1',
  'lua-cjson',
  'lua-bitop',
];

let program: Promise<Program> | undefined;

/** A test run that is stopped half-way leaves no server behind. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** The server program, installed when it is missing. */
export function findRedisServer(): Promise<Program> {
  program ??= findProgram({
    names: ['redis-server', 'valkey-server'],
    variable: 'TEST_REDIS_BINARY',
    install: 'redis-server',
    unpack: packages,
    // The server of the archive is a link to the second, by a path that holds only where it is installed.
    files: ['redis-server', 'redis-check-rdb'],
  });
  return program;
}

/** A server on a free port of the loopback address. */
export class RedisProcess {
  readonly port: number;
  readonly folder: string;
  readonly #options: readonly string[];
  #child: ChildProcess | undefined;

  private constructor(port: number, folder: string, options: readonly string[]) {
    this.port = port;
    this.folder = folder;
    this.#options = options;
  }

  /** @param options of the configuration, `['--appendonly', 'yes']` */
  static async start(options: readonly string[] = []): Promise<RedisProcess> {
    const folder = await mkdtemp(path.join(tmpdir(), 'coffer-redis-'));
    const server = new RedisProcess(await freePort(), folder, options);
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}/0`;
  }

  /**
   * Starts it, again after `kill`, on the same port and folder.
   *
   * @param more options for this time
   */
  async start(more: readonly string[] = []): Promise<void> {
    const { path: command, libraries } = await findRedisServer();
    const defaults = ['--save', '', '--appendonly', 'no', '--bind', '127.0.0.1', '--dir', this.folder];
    const child = spawn(command, ['--port', String(this.port), ...defaults, ...this.#options, ...more], {
      argv0: 'redis-server',
      stdio: 'ignore',
      env: { ...process.env, ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) },
    });
    this.#child = child;
    running.add(child);
    await answering(this.port, child);
  }

  /** Ends the process at once, as a power cut would. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Tells the process to end in good order. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** The process stops answering, its connections stay. */
  async pause(): Promise<void> {
    const pid = this.#child?.pid;
    if (pid !== undefined) await freeze(pid);
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Ends the process and removes its folder. */
  async remove(): Promise<void> {
    this.resume();
    await this.#end('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child !== undefined) running.delete(child);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
}

/**
 * Returns the URL of the server that the test files share.
 *
 * @throws MissingProgram where no server could be started
 */
export function requireRedisUrl(): string {
  const { TEST_REDIS_URL: url = '' } = process.env;
  if (url === '') throw new MissingProgram('redis-server', 'apt-get install redis-server');
  return url;
}

/** A server for a test file: the one of TEST_REDIS_URL, or one of its own. */
export async function openTestServer(): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const given = process.env['TEST_REDIS_URL'];
  if (given !== undefined && given !== '') return { url: given, close: async () => {} };
  const server = await RedisProcess.start();
  return { url: server.url, close: () => server.remove() };
}

/** Returns a free port, chosen by the system. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Resolves once the server answers commands. */
async function answering(port: number, child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the Redis server ended with ${String(code)} before it answered`);
  });
  ended.catch(() => {});
  const isUp = async (): Promise<boolean> => {
    let socket: Socket | undefined;
    try {
      socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      socket.write('PING\r\n');
      const [answer] = (await once(socket, 'data')) as [Buffer];
      return answer.toString().startsWith('+PONG');
    } catch {
      return false;
    } finally {
      socket?.destroy();
    }
  };
  const poll = async (): Promise<void> => {
    while (!(await isUp())) await nextTurn();
  };
  await Promise.race([poll(), ended]);
}

/** A client to look at a server from outside, even when it only answers the most urgent. */
export function openInspector(url: string): Redis {
  return new Redis(url, { enableReadyCheck: false, disableClientInfo: true });
}
