// The series that are sampled during a soak, and their permitted growth.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { Client } from 'pg';
import { cpuSeconds, starvedMs } from '../lib/process-figures.mjs';

/**
 * @typedef {import('../lib/workbench.mjs').Server} Server
 * @typedef {import('./client.mjs').Clients} Clients
 *
 * @typedef {object} Series
 * @property {string} name with unit
 * @property {import('./steadiness.mjs').Allowance} allowance
 * @property {boolean} [isTime] whether it rises when the machine is busy with something else
 *
 * @typedef {{ seconds: number } & Record<string, number>} Sample values by key of the series
 */

/** By key. @type {Readonly<Record<string, Series>>} */
export const series = {
  residentMiB: { name: 'resident memory, MiB', allowance: { amount: 16, share: 0.1 } },
  heapMiB: { name: 'heap after garbage collection, MiB', allowance: { amount: 2, share: 0.05 } },
  descriptors: { name: 'open descriptors', allowance: { amount: 8, share: 0.1 } },
  resources: { name: 'sockets, timers and requests in the process', allowance: { amount: 16, share: 0.1 } },
  threads: { name: 'threads', allowance: { amount: 2, share: 0 } },
  // The file keeps its maximum length, up to `journal_size_limit`.
  walMiB: { name: 'write-ahead log of SQLite, MiB', allowance: { amount: 64, share: 0 } },
  dataMiB: { name: 'database, MiB', allowance: { amount: 4, share: 0.1 } },
  connections: { name: 'connections of PostgreSQL', allowance: { amount: 2, share: 0 } },
  files: { name: 'attached files', allowance: { amount: 8, share: 0.2 } },
  loopP99: { name: 'p99 of the delay of the event loop, ms', allowance: { amount: 5, share: 0.5 }, isTime: true },
  answerP99: { name: 'p99 of response times, ms', allowance: { amount: 20, share: 0.5 }, isTime: true },
  cpuMicros: { name: 'processor time of a response, µs', allowance: { amount: 0, share: 0.15 } },
  starved: { name: 'time that the server waited for a processor, %', allowance: { amount: 5, share: 0 }, isTime: true },
};

export class Sampler {
  #server;
  #clients;
  #monitor;
  #attachments;
  #database;
  #began = performance.now();
  #cpu;
  #starvedMs;
  #seconds = 0;
  #answers = 0;

  /**
   * @param {Server} server
   * @param {Clients} clients
   * @param {{ monitor: string, attachments: string, databaseUrl: string | undefined }} places files of the monitor and of
   * attachments, and where PostgreSQL answers
   */
  constructor(server, clients, { monitor, attachments, databaseUrl }) {
    this.#server = server;
    this.#clients = clients;
    this.#monitor = monitor;
    this.#attachments = attachments;
    this.#database = databaseUrl === undefined ? undefined : new Client({ connectionString: databaseUrl });
    this.#cpu = cpuSeconds(server.pid);
    this.#starvedMs = starvedMs(server.pid);
  }

  async open() {
    await this.#database?.connect();
  }

  async close() {
    await this.#database?.end();
  }

  /** Takes a sample: current values, and changes since the last sample. @returns {Promise<Sample>} */
  async take() {
    const { pid, place } = this.#server;
    /** @type {import('../lib/monitor.mjs').Health} */
    const health = JSON.parse(readFileSync(this.#monitor, 'utf8'));
    const cpu = cpuSeconds(pid);
    const { answers } = this.#clients;
    const cpuMicros = ((cpu - this.#cpu) / Math.max(1, answers - this.#answers)) * 1e6;
    this.#cpu = cpu;
    this.#answers = answers;
    const seconds = (performance.now() - this.#began) / 1000;
    const waitedMs = starvedMs(pid);
    const starved = (waitedMs - this.#starvedMs) / 10 / (seconds - this.#seconds);
    this.#starvedMs = waitedMs;
    this.#seconds = seconds;
    return {
      seconds,
      starved,
      residentMiB: health.residentMiB,
      heapMiB: health.collectedMiB,
      resources: health.resources,
      loopP99: health.delayP99,
      answerP99: this.#clients.takeP99(),
      cpuMicros,
      ...(existsSync('/proc')
        ? { descriptors: countIn(`/proc/${pid}/fd`), threads: countIn(`/proc/${pid}/task`) }
        : {}),
      ...(place.file === undefined ? {} : { dataMiB: sizeOf(place.file), walMiB: sizeOf(`${place.file}-wal`) }),
      files: countFiles(this.#attachments),
      ...(await this.#askDatabase(place.database)),
    };
  }

  /** @param {string | undefined} database @returns {Promise<Record<string, number>>} */
  async #askDatabase(database) {
    if (this.#database === undefined) return {};
    const sql =
      'SELECT count(*)::int AS connections, pg_database_size($1) / 1048576.0 AS size FROM pg_stat_activity WHERE datname = $1';
    const { rows } = await this.#database.query(sql, [database]);
    return { connections: Number(rows[0].connections), dataMiB: Number(rows[0].size) };
  }
}

/** @param {string} folder */
function countIn(folder) {
  return readdirSync(folder).length;
}

/** Counts the files in a folder and its subfolders. @param {string} folder @returns {number} */
export function countFiles(folder) {
  if (!existsSync(folder)) return 0;
  return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
}

/** @param {string} file @returns {number} MiB */
function sizeOf(file) {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) / 2 ** 20;
}
