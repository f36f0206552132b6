// What do the client packages cost in a browser, compared with kinto.js: the first synchronisation of 10,000 records, the
// next start from local data, the size of the programs, and the bytes of an hour without changes?
import { setTimeout as wait } from 'node:timers/promises';
import { browserPrograms } from './lib/browser-programs.mjs';
import { bundle, openBrowser, servePrograms } from './lib/browser.mjs';
import { median } from './lib/contest.mjs';
import { formatCount, formatMs } from './lib/rows.mjs';

export const title = 'clients';

/** Streams end after this time, and clients open the next one (`live_max_seconds`). */
const streamSeconds = 300;
/** How often an application without live updates asks for changes. */
const pollsPerHour = 60;

/**
 * @typedef {object} Figures of one client
 * @property {string} name
 * @property {boolean} isLive
 * @property {number[]} first milliseconds of each round
 * @property {number[]} restart milliseconds of each round
 * @property {number} idleBytes in an hour
 * @property {number} gzipBytes of the program
 */

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  const { isShort, rounds } = bench.size;
  const total = isShort ? 200 : 10_000;
  // On one backend: nearly all of the time passes in the browser. Other benchmarks compare the backends.
  for (const backend of bench.among('sqlite')) {
    const server = await bench.server(backend, { records: total });
    const bundles = await Promise.all(browserPrograms.map(({ code }) => bundle(code)));
    const pages = await servePrograms(
      server.url,
      bundles.map(({ text }) => text),
    );
    const browser = await openBrowser();
    /** @type {Figures[]} */
    const figures = browserPrograms.map((program, index) => ({
      ...program,
      first: [],
      restart: [],
      idleBytes: 0,
      gzipBytes: bundles.at(index)?.gzipBytes ?? 0,
    }));
    try {
      for (let round = 0; round < rounds; round++) {
        for (const [index, each] of figures.entries()) {
          const visit = await Visit.begin(browser, pages, index);
          each.first.push(await visit.call('sync', total));
          if (round === 0) each.idleBytes = await idleHour(visit, pages, each.isLive, isShort);
          await visit.reload();
          each.restart.push(await visit.call('restart', total));
          await visit.end();
        }
      }
    } finally {
      await browser.close();
      await pages.close();
    }
    yield* rowsOf(figures, total, backend);
    await bench.stop(server);
  }
}

/** @typedef {Awaited<ReturnType<typeof servePrograms>>} Pages */

/** One browser profile with one program. */
class Visit {
  #context;
  #page;
  #index;

  /** @param {import('playwright-core').Browser} browser @param {Pages} pages @param {number} index */
  static async begin(browser, { origin }, index) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${origin}/${index}`);
    const visit = new Visit(context, page, index);
    await visit.#load();
    return visit;
  }

  /**
   * @param {import('playwright-core').BrowserContext} context
   * @param {import('playwright-core').Page} page
   * @param {number} index
   */
  constructor(context, page, index) {
    this.#context = context;
    this.#page = page;
    this.#index = index;
  }

  async #load() {
    await this.#page.evaluate(`import('/${this.#index}.js').then((program) => { globalThis.program = program; })`);
  }

  /** Calls a function of the program. @param {'sync' | 'restart' | 'idle'} name @param {number} [total] @returns {Promise<number>} */
  call(name, total) {
    return this.#page.evaluate(`program.${name}(${total ?? ''})`);
  }

  /** Begins anew, without a network from then on. */
  async reload() {
    await this.#page.reload();
    await this.#load();
    await this.#context.setOffline(true);
  }

  end() {
    return this.#context.close();
  }
}

/**
 * Computes the bytes of an hour without changes from those of a shorter time.
 *
 * @param {Visit} visit
 * @param {Pages} pages
 * @param {boolean} isLive
 * @param {boolean} isShort
 */
async function idleHour(visit, pages, isLive, isShort) {
  if (!isLive) {
    const before = pages.bytes();
    const polls = isShort ? 1 : 5;
    for (let n = 0; n < polls; n++) await visit.call('idle');
    return ((pages.bytes() - before) / polls) * pollsPerHour;
  }
  const bytesIn = async (/** @type {number} */ seconds) => {
    const before = pages.bytes();
    await wait(isShort ? 500 : seconds * 1000);
    return pages.bytes() - before;
  };
  // The service may still be sending what the first synchronisation has asked for.
  await bytesIn(5);
  const idle = await bytesIn(60);
  pages.cut();
  const reconnect = await bytesIn(15);
  return idle * 60 + (reconnect * 3600) / streamSeconds;
}

/**
 * @param {readonly Figures[]} figures
 * @param {number} total
 * @param {import('./lib/places.mjs').Backend} backend
 * @returns {Generator<import('./lib/rows.mjs').Row>}
 */
function* rowsOf(figures, total, backend) {
  const reference = figures.at(-1);
  const records = formatCount(total);
  if (reference === undefined) return;
  for (const own of figures.slice(0, -1)) {
    const { name } = own;
    const compare = (
      /** @type {(each: Figures) => number} */ value,
      /** @type {(value: number) => string} */ format,
    ) => ({
      backend,
      ours: format(value(own)),
      comparedWith: `kinto.js ${format(value(reference))}`,
      value: value(own) / value(reference),
    });
    const milliseconds = (/** @type {number} */ value) => `${formatMs(value)} ms`;
    const kibibytes = (/** @type {number} */ value) => `${(value / 1024).toFixed(1)} KiB`;
    yield {
      question: `${title}: first synchronisation of ${records} records, ${name}`,
      ...compare(({ first }) => median(first), milliseconds),
      unit: '× the time',
      remark: 'in Chromium, until all records are in IndexedDB',
    };
    yield {
      question: `${title}: next start with ${records} records, ${name}`,
      ...compare(({ restart }) => median(restart), milliseconds),
      unit: '× the time',
      remark: 'without a network, until all records are readable',
    };
    yield {
      question: `${title}: size of the program, ${name}`,
      ...compare(({ gzipBytes }) => gzipBytes, kibibytes),
      unit: '× the size',
      remark: 'with the library and its storage, minified and compressed with gzip',
    };
    yield {
      question: `${title}: traffic of an hour without changes, ${name}`,
      ...compare(({ idleBytes }) => idleBytes, kibibytes),
      unit: '× the bytes',
      remark: `computed from a minute of an open stream, and a reconnect every ${streamSeconds} s; kinto.js: ${pollsPerHour} times \`sync()\``,
    };
  }
}
