// Real memcached servers for tests: found on the machine, or fetched once from Debian's archive, and started on free ports. TEST_MEMCACHED_BINARY names a program to use.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { findProgram, type Program } from './debian-program.ts';
import { freePort } from './redis.ts';
import { freeze } from './frozen-process.ts';

let program: Promise<Program> | undefined;

/** A test run that is stopped half-way leaves no server behind. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

function findMemcached(): Promise<Program> {
  program ??= findProgram({
    names: ['memcached'],
    variable: 'TEST_MEMCACHED_BINARY',
    install: 'memcached',
    unpack: ['memcached', 'libevent-2.1-7', 'libsasl2-2'],
    files: ['memcached'],
  });
  return program;
}

/** A server on a free port of the loopback address. */
export class MemcachedProcess {
  readonly host = '127.0.0.1';
  readonly port: number;
  #child: ChildProcess | undefined;

  private constructor(port: number) {
    this.port = port;
  }

  /** @param options of the command line, `['-m', '16']` */
  static async start(options: readonly string[] = []): Promise<MemcachedProcess> {
    const server = new MemcachedProcess(await freePort());
    await server.start(options);
    return server;
  }

  /** Starts it, again after `kill`, on the same port, with nothing in it. */
  async start(options: readonly string[] = []): Promise<void> {
    const { path: command, libraries } = await findMemcached();
    const user = process.getuid?.() === 0 ? ['-u', 'root'] : [];
    const child = spawn(command, ['-l', this.host, '-p', String(this.port), '-t', '1', ...user, ...options], {
      stdio: 'ignore',
      env: { ...process.env, ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) },
    });
    this.#child = child;
    running.add(child);
    await this.#answering(child);
  }

  /** Ends the process at once. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child !== undefined) running.delete(child);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** The process stops answering, its connections stay. */
  async pause(): Promise<void> {
    const pid = this.#child?.pid;
    if (pid !== undefined) await freeze(pid);
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async #answering(child: ChildProcess): Promise<void> {
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`memcached ended with ${String(code)} before it answered`);
    });
    ended.catch(() => {});
    const poll = async (): Promise<void> => {
      while (!(await this.#isUp())) await nextTurn();
    };
    await Promise.race([poll(), ended]);
  }

  async #isUp(): Promise<boolean> {
    let socket: Socket | undefined;
    try {
      socket = connect(this.port, this.host);
      await once(socket, 'connect');
      socket.write('version\r\n');
      const [answer] = (await once(socket, 'data')) as [Buffer];
      return answer.toString().startsWith('VERSION');
    } catch {
      return false;
    } finally {
      socket?.destroy();
    }
  }
}
