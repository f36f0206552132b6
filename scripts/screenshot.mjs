// Takes the picture of the web console that the README shows: starts the built service with a few recipes in a temporary
// folder, opens the console in Chromium, and writes docs/images/console.png. Build first.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { startServer } from '../examples/tour/server.mjs';
import { withTestModule } from './test-modules.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const target = path.join(root, 'docs', 'images', 'console.png');
const user = { name: 'alice', password: 'correct-horse' };
const collection = '/buckets/kitchen/collections/recipes';

const recipes = [
  { id: 'bread', title: 'Sourdough bread', minutes: 90, tags: ['baking', 'vegan'], rating: 4.5 },
  { id: 'curry', title: 'Chickpea curry', minutes: 35, tags: ['vegan'], rating: 4.8 },
  { id: 'dumplings', title: 'Plum dumplings', minutes: 60, tags: ['sweet'], rating: 4.1 },
  { id: 'omelette', title: 'Omelette', minutes: 10, tags: ['quick'], rating: 3.9 },
  { id: 'risotto', title: 'Mushroom risotto', minutes: 40, tags: ['rice'], rating: 4.6 },
  { id: 'salad', title: 'Lentil salad', minutes: 25, tags: ['quick', 'vegan'], rating: 4.2 },
  { id: 'soup', title: 'Pumpkin soup', minutes: 20, tags: ['quick'], rating: 4.4 },
];

/** Stores the recipes. @param {string} api address with version */
async function fill(api) {
  const authorization = `Basic ${btoa(`${user.name}:${user.password}`)}`;
  const put = async (/** @type {string} */ place, /** @type {object} */ data) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const response = await fetch(api + place, { method: 'PUT', headers, body: JSON.stringify({ data }) });
    if (!response.ok) throw new Error(`PUT ${place}: ${response.status} ${await response.text()}`);
  };
  await put('/buckets/kitchen', {});
  await put(collection, { displayFields: ['title', 'minutes', 'tags', 'rating'] });
  for (const { id, ...data } of recipes) await put(`${collection}/records/${id}`, data);
}

/** Returns the browser of this machine, as the tests find it. */
function openBrowser() {
  return withTestModule('/test/support/chromium.ts', async ({ findChromium }) => {
    const { path: executablePath, environment } = await findChromium();
    return chromium.launch({ executablePath, env: { ...process.env, ...environment } });
  });
}

const server = await startServer({ SVC_INCLUDES: 'default_bucket history admin', SVC_PROJECT_NAME: 'our kitchen' });
const browser = await openBrowser();
try {
  await fill(server.api);
  const page = await browser.newPage({ viewport: { width: 1000, height: 730 }, colorScheme: 'light' });
  await page.goto(`${server.api}/admin/`);
  await page.getByLabel('Name').fill(user.name);
  await page.getByLabel('Password').fill(user.password);
  await page.getByLabel('Password').press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await page.goto(`${server.api}/admin/#${collection}?_sort=title`);
  await page.getByText('Pumpkin soup').waitFor();
  mkdirSync(path.dirname(target), { recursive: true });
  await page.screenshot({ path: target });
  console.log(path.relative(root, target));
} finally {
  await browser.close();
  await server.stop();
}
