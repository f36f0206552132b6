// Loads the data sets into a running server, declares indexes, and shows how long queries take before and after that. The
// result of each query is compared with the data.
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { datasets } from './datasets.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    server: { type: 'string', default: 'http://127.0.0.1:8888/v1' },
    auth: { type: 'string', default: 'example:queries' },
    records: { type: 'string', default: 'Infinity' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) {
  console.log(`Usage: node run.mjs [DATA SET …] [--server URL] [--auth USER:PASSWORD] [--records N]

Data sets: ${datasets.map(({ name }) => name).join(', ')}. Without names, all of them are loaded.
--records loads only the first N records of each.`);
  process.exit(0);
}

const headers = {
  Authorization: `Basic ${Buffer.from(values.auth).toString('base64')}`,
  'Content-Type': 'application/json',
};

/** Sends a request; returns the body and the headers. @param {string} method @param {string} path @param {unknown} [body] */
async function send(method, path, body) {
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${values.server}${path}`, { method, headers, ...content });
  const answer = method === 'HEAD' ? undefined : await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
  return { answer, headers: response.headers };
}

const perBatch = 25;
const batchesAtOnce = 4;

/** @param {string} records @param {import('./datasets.mjs').Item[]} items */
async function load(records, items) {
  let next = 0;
  const work = async () => {
    while (next < items.length) {
      const part = items.slice(next, next + perBatch);
      next += perBatch;
      const requests = part.map(({ id, ...data }) => ({ path: `${records}/${id}`, body: { data } }));
      const { answer } = await send('POST', '/batch', { defaults: { method: 'PUT' }, requests });
      const refused = answer.responses.find((/** @type {any} */ { status }) => status >= 400);
      if (refused !== undefined) throw new Error(JSON.stringify(refused));
    }
  };
  await Promise.all(Array.from({ length: batchesAtOnce }, work));
}

/** Waits until all indexes of a collection are complete. @param {string} collection */
async function complete(collection) {
  for (;;) {
    const { answer } = await send('GET', `${collection}/indexes`);
    if (answer.data.every((/** @type {any} */ { state }) => state === 'ready')) return;
    await wait(100);
  }
}

const runs = 5;

/** Returns the ids of all results, the median time of a first page in milliseconds, and the plan. @param {string} path */
async function measure(path) {
  /** @type {number[]} */
  const times = [];
  for (let run = 0; run < runs; run++) {
    const began = performance.now();
    await send('GET', `${path}&_limit=20`);
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  const { headers: found } = await send('GET', `${path}&_limit=20&_explain=true`);
  /** @type {string[]} */
  const ids = [];
  for (let next = `${path}&_limit=1000`; next !== '';) {
    const { answer, headers: page } = await send('GET', next);
    for (const { id } of answer.data) ids.push(id);
    next = (page.get('next-page') ?? '').replace(/^https?:\/\/[^/]+\/v1/, '');
  }
  return { ids, milliseconds: times[Math.floor(runs / 2)] ?? 0, plan: found.get('query-plan') ?? '' };
}

for (const { name, read, indexes, queries } of datasets) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const items = read().slice(0, Number(values.records));
  const collection = `/buckets/examples/collections/${name}`;
  const records = `${collection}/records`;
  await send('PUT', '/buckets/examples', {});
  await send('PUT', collection, { data: {} });
  let began = performance.now();
  await load(records, items);
  console.log(`\n${name}: ${items.length} records loaded in ${seconds(began)} s`);
  /** @type {Map<string, number>} */
  const scanned = new Map();
  for (const { title, parameters, needsIndex } of queries) {
    if (!needsIndex) scanned.set(title, (await measure(addressOf(records, parameters))).milliseconds);
  }
  began = performance.now();
  await send('PUT', collection, { data: { indexes } });
  await complete(collection);
  console.log(`${indexes.length} indexes built in ${seconds(began)} s`);
  for (const { title, parameters, matches } of queries) {
    const { ids, milliseconds, plan } = await measure(addressOf(records, parameters));
    const expected = items.filter(matches).map(({ id }) => id);
    const isRight = ids.length === expected.length && new Set([...ids, ...expected]).size === expected.length;
    const before = scanned.get(title);
    const times = `${before === undefined ? '' : `${before.toFixed(1)} → `}${milliseconds.toFixed(1)} ms`;
    console.log(`  ${title}: ${ids.length} records, ${times} (${plan})`);
    if (!isRight) throw new Error(`${title}: expected ${expected.length} records`);
  }
}

/** @param {string} records @param {Record<string, string>} parameters */
function addressOf(records, parameters) {
  return `${records}?${new URLSearchParams(parameters)}`;
}

/** @param {number} began */
function seconds(began) {
  return ((performance.now() - began) / 1000).toFixed(1);
}
