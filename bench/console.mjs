// How long after its data request does the console show the first page of a collection of 50,000 records?
import { openBrowser } from './lib/browser.mjs';
import { bucket, collection, owner } from './lib/data.mjs';
import { formatCount, formatMs } from './lib/rows.mjs';

export const title = 'console: first view of a collection';
const maxRecords = 50_000;

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  const records = Math.min(bench.size.records, maxRecords);
  for (const backend of bench.among('memory', 'sqlite', 'postgresql')) {
    const program = await bench.server(backend, { records }, { settings: { includes: 'admin' } });
    const times = await measure(program.url, bench.size.rounds * 5);
    const [p50, p99] = [0.5, 0.99].map((share) => times[Math.floor((times.length - 1) * share)] ?? 0);
    yield {
      question: title,
      backend,
      ours: `longest ${formatMs(times.at(-1) ?? 0)} ms`,
      comparedWith: `p50 ${formatMs(p50 ?? 0)} ms`,
      value: p99 ?? 0,
      unit: 'ms',
      target: { atMost: 300 },
      remark: `${formatCount(records)} records; from the request to the drawn rows, in Chromium`,
    };
    await bench.stopAll();
  }
}

/**
 * Returns the times from the data request to the frame with the rows, in ascending order.
 *
 * @param {string} url
 * @param {number} visits
 */
async function measure(url, visits) {
  const browser = await openBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.addInitScript(`sessionStorage.setItem('coffer.session', ${JSON.stringify(sessionOf())})`);
    const times = [];
    for (let visit = 0; visit < visits; visit += 1) {
      // The first page of the console, so that the collection itself is opened anew.
      await page.goto(`${url}/v1/admin/#${bucket}`);
      await page.getByRole('button', { name: 'Sign out' }).waitFor();
      times.push(Number(await page.evaluate(openCollection)));
    }
    return times.toSorted((a, b) => a - b);
  } finally {
    await browser.close();
  }
}

function sessionOf() {
  return JSON.stringify({ authorization: owner.authorization, label: 'owner' });
}

/** Opens the collection, and returns the milliseconds from the request for its records to the first frame with a row. */
const openCollection = `new Promise((resolve) => {
  performance.clearResourceTimings();
  location.hash = '#${collection}';
  const look = () => {
    const request = performance.getEntriesByType('resource').find(({ name }) => name.includes('${collection}/records?'));
    const isShown = document.querySelector('section.list tbody tr.opens td.check') !== null;
    if (request !== undefined && isShown) resolve(performance.now() - request.startTime);
    else requestAnimationFrame(look);
  };
  look();
})`;
