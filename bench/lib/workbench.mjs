// The resources of a run: programs, places and the load generator. Closing it removes all of them.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuSeconds } from './process-figures.mjs';
import { environmentOf, Places } from './places.mjs';
import { startBare, startBareStreams, startHandMade, startServer } from './programs.mjs';

const generator = fileURLToPath(new URL('load.mjs', import.meta.url));

/**
 * @typedef {object} Size
 * @property {boolean} isShort only to see that it works
 * @property {number} rounds
 * @property {number} seconds of one round
 * @property {number} [amount] requests of one round in place of seconds
 * @property {number} connections
 * @property {number} soakMinutes
 * @property {number} records of a large list
 *
 * @typedef {import('./places.mjs').Backend} Backend
 * @typedef {import('./places.mjs').Place} Place
 * @typedef {import('./data.mjs').Plan} Plan
 * @typedef {import('./programs.mjs').Program} Program
 * @typedef {import('./load.mjs').Job} Job
 * @typedef {import('./load.mjs').Result & { cpuMicros: number, databaseMicros: number }} Result processor time for each
 * request of the server, and of PostgreSQL where that is its backend
 * @typedef {Program & { place: Place }} Server
 */

export class Workbench {
  size;
  places;
  #profiles;
  #folder;
  #config;
  #generator;
  /** @type {Set<Program>} */
  #running = new Set();

  /**
   * @param {Size} size
   * @param {readonly Backend[]} backends those that are asked for
   * @param {string} [profiles] folder for profiles of the servers
   */
  constructor(size, backends, profiles) {
    this.size = size;
    this.backends = backends;
    this.#profiles = profiles;
    this.#folder = mkdtempSync(path.join(tmpdir(), 'coffer-bench-'));
    this.#config = path.join(this.#folder, 'empty.ini');
    writeFileSync(this.#config, '');
    this.places = new Places(this.#folder);
    this.#generator = fork(generator);
  }

  /** Creates an empty folder that is removed after the run. @param {string} name */
  folder(name) {
    return mkdtempSync(path.join(this.#folder, `${name}-`));
  }

  /** Returns the given backends that are requested and available. @param {...Backend} wanted @returns {Backend[]} */
  among(...wanted) {
    return wanted.filter((backend) => this.backends.includes(backend) && this.places.has(backend));
  }

  /**
   * Starts a server in production mode with separate data.
   *
   * @param {Backend} backend
   * @param {Plan} plan what it finds
   * @param {{ settings?: Record<string, string>, nodeArgs?: string[], args?: string[], environment?: Record<string, string> }} [options]
   * @returns {Promise<Server>}
   */
  async server(backend, plan, options = {}) {
    return this.serve(await this.places.create(backend, plan), options);
  }

  /**
   * Starts a server on a place.
   *
   * @param {Place} place
   * @param {{ settings?: Record<string, string>, nodeArgs?: string[], args?: string[], environment?: Record<string, string> }} [options]
   * @returns {Promise<Server>}
   */
  async serve(place, { settings = {}, nodeArgs = [], args = [], environment = {} } = {}) {
    // A plugin fills a place in memory.
    const includes = [place.settings, settings].flatMap((each) => ('includes' in each ? [each['includes']] : []));
    const plugins = includes.length > 0 ? { includes: includes.join(' ') } : {};
    const all = { ...place, settings: { ...place.settings, ...settings, ...plugins } };
    const profiling = [];
    if (this.#profiles !== undefined) {
      // A folder for each server: its worker threads write profiles as well.
      const folder = path.join(this.#profiles, `${place.backend}-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`);
      mkdirSync(folder, { recursive: true });
      profiling.push('--cpu-prof', `--cpu-prof-dir=${folder}`);
    }
    const program = await startServer(
      this.#folder,
      { ...environmentOf(all), ...environment },
      { nodeArgs: [...nodeArgs, ...profiling], args: ['--config', this.#config, ...args] },
    );
    return this.#keep({ ...program, place });
  }

  /** @param {import('./programs.mjs').Answer} answer @returns {Promise<Program>} */
  async bare(answer) {
    return this.#keep(await startBare(answer));
  }

  /** @param {string} frame @returns {Promise<Program>} */
  async bareStreams(frame) {
    return this.#keep(await startBareStreams(frame));
  }

  /**
   * Starts a server written by hand, on a separate place.
   *
   * @param {Place} place
   * @param {import('./hand-made-server.mjs').HandMade} purpose
   * @returns {Promise<Server>}
   */
  async handMade(place, purpose) {
    return this.#keep({ ...(await startHandMade(this.#folder, purpose)), place });
  }

  /**
   * @template {Program} P
   * @param {P} program
   * @returns {P}
   */
  #keep(program) {
    this.#running.add(program);
    return program;
  }

  /** @param {Program | Server} program */
  async stop(program) {
    this.#running.delete(program);
    await program.stop();
    if ('place' in program) await program.place.drop();
  }

  async stopAll() {
    for (const program of this.#running) await this.stop(program);
  }

  /**
   * Runs a job in the load generator.
   *
   * @param {Program | Server} program that is loaded
   * @param {Omit<Job, 'url' | 'connections'> & { connections?: number }} job
   * @returns {Promise<Result>}
   * @throws Error when anything but the expected came back
   */
  async load(program, job) {
    const isPostgresql = 'place' in program && program.place.backend === 'postgresql';
    const database = isPostgresql ? (await this.places.postgresql()).pid : undefined;
    const before = cpuSeconds(program.pid);
    const databaseBefore = cpuSeconds(database);
    const { connections } = this.size;
    const answered = once(this.#generator, 'message');
    this.#generator.send({ connections, ...job, url: program.url });
    /** @type {import('./load.mjs').Result | undefined} */
    const result = (await answered).at(0);
    if (result === undefined || result.failure !== undefined) {
      const { method = 'GET', path: where } = job.requests[0] ?? { path: '?' };
      const server = 'place' in program ? program.place.backend : program.url;
      throw new Error(`${method} ${where} on ${server}: the measurement is void: ${result?.failure}`);
    }
    return {
      ...result,
      cpuMicros: ((cpuSeconds(program.pid) - before) / result.answers) * 1e6,
      databaseMicros: ((cpuSeconds(database) - databaseBefore) / result.answers) * 1e6,
    };
  }

  async close() {
    await this.stopAll();
    this.#generator.kill();
    await this.places.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
