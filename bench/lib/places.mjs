// The data of one server: in its memory, in a file, in a database, or below a key prefix. Filling takes long, so each plan is
// executed once for each backend, and each server starts with a copy of the result.
import { copyFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../dist/base/clock.js';
import { openStores } from '../../dist/backends/open-backends.js';
import { migrate } from '../../dist/maintenance/schemas.js';
import { settingsOf } from '../../dist/backends/load-settings.js';
import { fill, secret } from './data.mjs';
import { Postgresql } from './postgresql.mjs';
import { findRedis, startRedis } from './redis.mjs';

/**
 * @typedef {'memory' | 'sqlite' | 'postgresql' | 'redis'} Backend
 * @typedef {import('./data.mjs').Plan} Plan
 *
 * @typedef {object} Place
 * @property {Backend} backend
 * @property {Record<string, string>} settings by name
 * @property {string} [file] of SQLite
 * @property {string} [database] of PostgreSQL
 * @property {() => Promise<void>} drop
 */

const fillPlugin = fileURLToPath(new URL('fill-plugin.mjs', import.meta.url));

export class Places {
  #folder;
  #count = 0;
  /** @type {Promise<Postgresql> | undefined} */
  #postgresql;
  /** @type {Promise<{ url: string, stop: () => Promise<void> }> | undefined} */
  #redis;
  /** By backend and plan. @type {Map<string, Promise<Place>>} */
  #filled = new Map();

  /** @param {string} folder of the run */
  constructor(folder) {
    this.#folder = folder;
  }

  /** Returns the PostgreSQL server, started at the first use. @returns {Promise<Postgresql>} */
  postgresql() {
    this.#postgresql ??= Postgresql.start(path.join(this.#folder, 'postgresql'));
    return this.#postgresql;
  }

  /** Returns whether the backend is available on this machine. @param {Backend} backend */
  has(backend) {
    return backend !== 'redis' || findRedis() !== undefined;
  }

  /** Returns a separate place, filled as planned. @param {Backend} backend @param {Plan} plan @returns {Promise<Place>} */
  async create(backend, plan) {
    if (backend === 'memory' || backend === 'redis') return this.#fresh(backend, plan);
    const key = `${backend} ${JSON.stringify(plan)}`;
    let filled = this.#filled.get(key);
    if (filled === undefined) {
      filled = this.#fresh(backend, plan);
      this.#filled.set(key, filled);
    }
    return this.#copy(await filled);
  }

  /** Returns a place with empty tables. @param {Backend} backend @returns {Promise<Place>} */
  async createEmpty(backend) {
    if (backend === 'memory') return memoryPlace({ records: 0 });
    const place = await this.#empty(backend);
    await migrate(settingsOf(place.settings), { dryRun: false });
    return place;
  }

  async close() {
    await (await this.#postgresql)?.stop();
    await (await this.#redis)?.stop();
  }

  /** @param {Backend} backend @param {Plan} plan @returns {Promise<Place>} */
  async #fresh(backend, plan) {
    if (backend === 'memory') return memoryPlace(plan);
    const place = await this.createEmpty(backend);
    const stores = await openStores(settingsOf(place.settings), systemClock);
    const began = performance.now();
    try {
      await fill(stores, plan);
    } finally {
      await stores.close();
    }
    const seconds = (performance.now() - began) / 1000;
    if (seconds > 5) console.error(`filled ${backend} with ${plan.records} records in ${seconds.toFixed(0)} s`);
    if (place.database !== undefined) await (await this.postgresql()).query(place.database, 'VACUUM ANALYZE');
    return place;
  }

  /** @param {'sqlite' | 'postgresql' | 'redis'} backend @returns {Promise<Place>} */
  async #empty(backend) {
    switch (backend) {
      case 'sqlite':
        return sqlitePlace(this.#newFile());
      case 'postgresql':
        return this.#postgresqlPlace(await (await this.postgresql()).createDatabase());
      case 'redis':
        return this.#redisPlace();
    }
  }

  /** @param {Place} place @returns {Promise<Place>} */
  async #copy({ file, database }) {
    if (file !== undefined) {
      const copy = this.#newFile();
      copyFileSync(file, copy);
      return sqlitePlace(copy);
    }
    return this.#postgresqlPlace(await (await this.postgresql()).createDatabase(database));
  }

  #newFile() {
    const folder = path.join(this.#folder, `data${++this.#count}`);
    mkdirSync(folder);
    return path.join(folder, 'coffer.sqlite3');
  }

  /** @param {string} database @returns {Promise<Place>} */
  async #postgresqlPlace(database) {
    const server = await this.postgresql();
    const settings = placeSettings('postgresql', server.url(database));
    return { backend: 'postgresql', database, settings, drop: () => server.dropDatabase(database) };
  }

  /** @returns {Promise<Place>} */
  async #redisPlace() {
    const program = findRedis();
    if (program === undefined) throw new Error('there is no redis-server');
    this.#redis ??= startRedis(program, path.join(this.#folder, 'redis'));
    const settings = { ...placeSettings('redis', (await this.#redis).url), redis_prefix: `bench${++this.#count}:` };
    return { backend: 'redis', settings, drop: async () => {} };
  }
}

/** @param {Plan} plan @returns {Place} */
function memoryPlace(plan) {
  const settings = { ...placeSettings('memory'), includes: fillPlugin, BENCH_PLAN: JSON.stringify(plan) };
  return { backend: 'memory', settings, drop: async () => {} };
}

/** @param {string} file @returns {Place} */
function sqlitePlace(file) {
  return { backend: 'sqlite', file, settings: placeSettings('sqlite', file), drop: async () => {} };
}

/** @param {Backend} backend @param {string} [url] @returns {Record<string, string>} */
function placeSettings(backend, url) {
  const parts = ['storage', 'permission', 'cache'];
  return Object.fromEntries([
    ['userid_hmac_secret', secret],
    ['multiauth.policies', 'basicauth'],
    ['log_format', 'json'],
    ...parts.map((part) => [`${part}_backend`, backend]),
    ...(url === undefined ? [] : parts.map((part) => [`${part}_url`, url])),
  ]);
}

/** Returns the settings as environment variables of a server. @param {Place} place @returns {Record<string, string>} */
export function environmentOf({ settings }) {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      name.startsWith('BENCH_') ? name : `SVC_${name.toUpperCase().replaceAll('.', '_')}`,
      value,
    ]),
  );
}
