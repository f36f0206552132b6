// Makes pictures of the main views of the web console: starts the built service with a few recipes in a temporary folder,
// opens the console in Chromium, and writes docs/images/console.png, which the README shows. `--all FOLDER` writes every view
// into the folder as well: light, dark, and on a phone. Build first.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { startServer } from '../examples/tour/server.mjs';
import { withTestModule } from './test-modules.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const target = path.join(root, 'docs', 'images', 'console.png');
const user = { name: 'alice', password: 'correct-horse' };
const collection = '/buckets/kitchen/collections/recipes';
const { values: options } = parseArgs({ options: { all: { type: 'string' } } });

const recipes = [
  { id: 'bread', title: 'Sourdough bread', minutes: 90, tags: ['baking', 'vegan'], rating: 4.5 },
  { id: 'curry', title: 'Chickpea curry', minutes: 35, tags: ['vegan'], rating: 4.8 },
  { id: 'dumplings', title: 'Plum dumplings', minutes: 60, tags: ['sweet'], rating: 4.1 },
  { id: 'omelette', title: 'Omelette', minutes: 10, tags: ['quick'], rating: 3.9 },
  { id: 'risotto', title: 'Mushroom risotto', minutes: 40, tags: ['rice'], rating: 4.6 },
  { id: 'salad', title: 'Lentil salad', minutes: 25, tags: ['quick', 'vegan'], rating: 4.2 },
  { id: 'soup', title: 'Pumpkin soup', minutes: 20, tags: ['quick'], rating: 4.4 },
];
const schema = {
  type: 'object',
  required: ['title'],
  properties: {
    title: { type: 'string', title: 'Title', description: 'As it is on the menu.' },
    minutes: { type: 'integer', title: 'Minutes', minimum: 0 },
    course: { enum: ['starter', 'main', 'dessert'], title: 'Course' },
    tags: { type: 'array', title: 'Tags', items: { type: 'string' } },
    rating: { type: 'number', title: 'Rating' },
  },
};
/** Views by name, with what is waited for. */
const views = [
  { name: 'home', hash: '#/', text: 'kitchen' },
  { name: 'bucket', hash: '#/buckets/kitchen', text: 'recipes' },
  { name: 'records', hash: `#${collection}?_sort=title`, text: 'Pumpkin soup' },
  { name: 'filter', hash: `#${collection}?_sort=title&max_minutes=40`, text: 'Pumpkin soup' },
  { name: 'form', hash: `#${collection}/records/bread`, text: 'Minutes' },
  { name: 'json', hash: `#${collection}?_tab=attributes`, text: 'displayFields' },
  { name: 'new', hash: `#${collection}?_tab=records&_new=1`, text: 'Create record' },
  { name: 'schema', hash: `#${collection}?_tab=schema`, text: 'Check existing records' },
  { name: 'transfer', hash: `#${collection}?_tab=transfer`, text: 'Import' },
  { name: 'permissions', hash: `#${collection}?_tab=permissions`, text: 'Save permissions' },
  { name: 'members', hash: '#/buckets/kitchen/groups/cooks', text: 'Save members' },
  { name: 'requests', hash: `#/requests?_path=buckets%2Fkitchen`, text: 'As code' },
  { name: 'history', hash: `#${collection}/records/bread?_tab=history`, text: 'created' },
  { name: 'missing', hash: '#/buckets/kitchen/collections/none', text: 'Try again' },
];

/** Stores the recipes. @param {string} api address with version */
async function fill(api) {
  const authorization = `Basic ${btoa(`${user.name}:${user.password}`)}`;
  const put = async (/** @type {string} */ place, /** @type {object} */ data) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const response = await fetch(api + place, { method: 'PUT', headers, body: JSON.stringify({ data }) });
    if (!response.ok) throw new Error(`PUT ${place}: ${response.status} ${await response.text()}`);
  };
  for (const id of ['archive', 'garden', 'kitchen']) await put(`/buckets/${id}`, {});
  await put('/buckets/kitchen/collections/menus', {});
  await put('/buckets/kitchen/groups/cooks', { members: ['basicauth:bob'] });
  await put(collection, { displayFields: ['title', 'minutes', 'tags', 'rating'], schema });
  for (const { id, ...data } of recipes) await put(`${collection}/records/${id}`, data);
}

/** Returns the browser of this machine, as the tests find it. */
function openBrowser() {
  return withTestModule('/test/support/chromium.ts', async ({ findChromium }) => {
    const { path: executablePath, environment } = await findChromium();
    return chromium.launch({ executablePath, env: { ...process.env, ...environment } });
  });
}

/**
 * Opens the console as the user.
 *
 * @param {{ width: number, height: number, colorScheme: 'light' | 'dark' }} look
 */
async function open({ width, height, colorScheme }) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  await page.goto(`${server.api}/admin/`);
  if (options.all !== undefined && colorScheme === 'light') {
    await page.getByLabel('Name').waitFor();
    await page.screenshot({ path: path.join(options.all, `sign-in-${width}.png`) });
  }
  await page.getByLabel('Name').fill(user.name);
  await page.getByLabel('Password').fill(user.password);
  await page.getByLabel('Password').press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

/**
 * Goes to a view and waits until it is complete.
 *
 * @param {import('playwright-core').Page} page
 * @param {{ hash: string, text: string }} view
 */
async function show(page, { hash, text }) {
  await page.goto(`${server.api}/admin/${hash}`);
  await page.locator('main').getByText(text).first().waitFor();
}

/** Writes every view in three looks. @param {string} folder */
async function shootAll(folder) {
  mkdirSync(folder, { recursive: true });
  const looks = /** @type {const} */ ([
    { look: 'light', width: 1280, height: 800, colorScheme: 'light' },
    { look: 'dark', width: 1280, height: 800, colorScheme: 'dark' },
    { look: 'phone', width: 390, height: 844, colorScheme: 'light' },
  ]);
  for (const { look, ...size } of looks) {
    const page = await open(size);
    for (const view of views) {
      await show(page, view);
      await page.screenshot({ path: path.join(folder, `${view.name}-${look}.png`) });
    }
    await show(page, { hash: `#${collection}?_sort=title`, text: 'Pumpkin soup' });
    await page.keyboard.press('Control+k');
    await page.keyboard.type('re');
    await page.getByRole('option', { name: 'recipes' }).first().waitFor();
    await page.screenshot({ path: path.join(folder, `search-${look}.png`) });
    await page.close();
  }
  console.log(folder);
}

const server = await startServer({
  SVC_INCLUDES: 'default_bucket history admin',
  SVC_PROJECT_NAME: 'our kitchen',
  SVC_EXPERIMENTAL_COLLECTION_SCHEMA_VALIDATION: 'true',
});
const browser = await openBrowser();
try {
  await fill(server.api);
  if (options.all !== undefined) await shootAll(options.all);
  const page = await open({ width: 1100, height: 640, colorScheme: 'light' });
  await show(page, { hash: `#${collection}?_sort=title`, text: 'Pumpkin soup' });
  mkdirSync(path.dirname(target), { recursive: true });
  await page.screenshot({ path: target });
  console.log(path.relative(root, target));
} finally {
  await browser.close();
  await server.stop();
}
