// PgBouncer in transaction mode before the PostgreSQL server of the tests. Where it is not installed, Debian's package
// is fetched and unpacked in the folder of the project's other tools, without an installation.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { freePort, unprivileged } from './postgresql-server.ts';

const cache = path.resolve(import.meta.dirname, '../../node_modules/.cache/pgbouncer');
const packages = ['pgbouncer', 'libevent-2.1-7', 'libc-ares2'];

interface Program {
  readonly file: string;
  readonly libraries: string | undefined;
}

/** The program; `undefined` where it is neither installed nor to be had. */
export function findPgbouncer(): Program | undefined {
  for (const folder of [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin']) {
    const file = path.join(folder, 'pgbouncer');
    if (existsSync(file)) return { file, libraries: undefined };
  }
  const file = path.join(cache, 'usr/sbin/pgbouncer');
  if (!existsSync(file) && !fetchPackages()) return undefined;
  const libraries = path.join(cache, 'usr/lib');
  const folders = readdirSync(libraries).map((name) => path.join(libraries, name));
  return { file, libraries: folders.join(':') };
}

function fetchPackages(): boolean {
  mkdirSync(cache, { recursive: true });
  try {
    execFileSync('apt-get', ['download', ...packages], { cwd: cache, stdio: 'pipe' });
    for (const name of readdirSync(cache).filter((each) => each.endsWith('.deb'))) {
      execFileSync('dpkg', ['-x', name, '.'], { cwd: cache, stdio: 'pipe' });
    }
    return true;
  } catch {
    // Another system, or no network: the caller says what that means.
    return false;
  }
}

export interface Pooler {
  /** The URL with which the database is reached through the pooler. */
  url(database: string): string;
  stop(): Promise<void>;
}

/** Starts a pooler before the server of this URL. */
export async function startPgbouncer({ file, libraries }: Program, serverUrl: string): Promise<Pooler> {
  const server = new URL(serverUrl);
  const folder = mkdtempSync(path.join(tmpdir(), 'coffer-pgbouncer-'));
  const port = await freePort();
  const user = server.username;
  const lines = [
    '[databases]',
    `* = host=${server.hostname} port=${server.port} user=${user} ${server.password === '' ? '' : `password=${server.password}`}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    // Few, so that each transaction gets another session than the one before.
    'default_pool_size = 5',
    'max_client_conn = 200',
    'max_prepared_statements = 0',
  ];
  const config = path.join(folder, 'pgbouncer.ini');
  const isOld = execFileSync(file, ['--version'], { encoding: 'utf8', env: environment(libraries) }).includes(' 1.18');
  writeFileSync(config, lines.filter((line) => !(isOld && line.startsWith('max_prepared'))).join('\n'));
  const owner = unprivileged();
  if (owner.uid !== undefined && owner.gid !== undefined) {
    for (const name of [folder, config]) chownSync(name, owner.uid, owner.gid);
  }
  const child = spawn(file, ['-q', config], { ...owner, cwd: folder, env: environment(libraries), stdio: 'ignore' });
  const url = (database: string): string => `postgresql://${user}@127.0.0.1:${port}/${database}`;
  await untilReady(url(server.pathname.slice(1)));
  return {
    url,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function environment(libraries: string | undefined): NodeJS.ProcessEnv {
  return { ...process.env, ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) };
}

async function untilReady(url: string): Promise<void> {
  for (const deadline = Date.now() + 10_000; ;) {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await wait(25);
    }
  }
}
