// Does the speed stay the same when a list grows from 1,000 to 1,000,000 records? Two servers that differ only in the size of
// the list take turns.
import { contest, ratioOf } from './lib/contest.mjs';
import { attributes, recordId, records, user } from './lib/data.mjs';
import { headers, send } from './lib/client.mjs';
import { formatCount, formatCpu, formatRate } from './lib/rows.mjs';

export const title = 'growth';
const path = `/v1${records}`;
const reader = user('reader');

/** Read by others as well: made once in a run. @param {number} size @returns {import('./lib/data.mjs').Plan} */
export const planOf = (size) => ({ records: size, shared: { reader: 10 }, lists: 1 });

/** @param {import('./lib/workbench.mjs').Workbench} bench */
export const sizesOf = ({ size }) => ({ small: size.isShort ? 100 : 1000, large: size.records });

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  const sizes = sizesOf(bench);
  for (const backend of bench.among('memory', 'sqlite', 'postgresql')) {
    const small = await bench.server(backend, planOf(sizes.small));
    const large = await bench.server(backend, planOf(sizes.large));
    const ofSmall = await loadsOf(small.url, sizes.small);
    const ofLarge = await loadsOf(large.url, sizes.large);
    const names = [...ofSmall.keys()];
    // Creates make the small list larger, so they are measured last.
    for (const group of [names.filter((name) => name !== 'POST'), ['POST']]) {
      const contestants = group.flatMap((name) => [
        { name: `${name}, small`, program: small, ...loadOf(ofSmall, name) },
        { name: `${name}, large`, program: large, ...loadOf(ofLarge, name) },
      ]);
      const rounds = Math.min(3, bench.size.rounds);
      const figures = await contest(bench, contestants, { rounds, seconds: 1 });
      for (const name of group) {
        const few = figures.get(`${name}, small`);
        const many = figures.get(`${name}, large`);
        if (few === undefined || many === undefined) continue;
        yield {
          question: `${title}, ${name}`,
          backend,
          ours: `${formatCount(sizes.large)}: ${formatRate(many.perSecond)}`,
          comparedWith: `${formatCount(sizes.small)}: ${formatRate(few.perSecond)}`,
          value: ratioOf(few, many),
          unit: '× the time',
          target: { atMost: 1.5 },
          latency: many,
          cpu: formatCpu(many, `small ${formatCpu(few)}`),
        };
      }
    }
    await bench.stopAll();
  }
}

/**
 * @typedef {Pick<import('./lib/contest.mjs').Contestant, 'requests' | 'headers' | 'expected'>} Load
 */

/** @param {Map<string, Load>} loads @param {string} name @returns {Load} */
function loadOf(loads, name) {
  const load = loads.get(name);
  if (load === undefined) throw new Error(`no load ${name}`);
  return load;
}

/** @param {string} url @param {number} size @returns {Promise<Map<string, Load>>} */
async function loadsOf(url, size) {
  const newest = (await send(url, { method: 'HEAD', path })).headers.get('etag') ?? '';
  const ids = Array.from({ length: Math.min(500, size) }, (_, n) => recordId((n * 7919) % size));
  const base = { headers, expected: [200] };
  return new Map([
    ['GET', { ...base, requests: ids.map((id) => ({ path: `${path}/${id}` })) }],
    ['pages of 100 up to the middle', { ...base, requests: (await pages(url, size)).map((page) => ({ path: page })) }],
    ['poll with _since', { ...base, requests: [{ path: `${path}?_since=${encodeURIComponent(newest)}` }] }],
    [
      'list by a reader of 10',
      { ...base, headers: { ...headers, authorization: reader.authorization }, requests: [{ path }] },
    ],
    ['total (HEAD)', { ...base, requests: [{ method: 'HEAD', path: `${path}?_limit=1` }] }],
    [
      'POST',
      { ...base, expected: [201], requests: [{ method: 'POST', path, body: JSON.stringify({ data: attributes(1) }) }] },
    ],
  ]);
}

/** Paths of pages of 100 at the start, at a quarter and in the middle. @param {string} url @param {number} size */
async function pages(url, size) {
  const step = Math.min(10_000, Math.ceil(size / 4));
  const found = [`${path}?_limit=100`];
  let next = `${url}${path}?_limit=${step}`;
  for (let offset = step; offset <= size / 2; offset += step) {
    const link = (await send('', { path: next })).headers.get('next-page');
    if (link === null) break;
    next = link;
    if (offset === Math.ceil(size / 4) || offset + step > size / 2) {
      const page = new URL(link);
      page.searchParams.set('_limit', '100');
      found.push(page.pathname + page.search);
    }
  }
  return found;
}
