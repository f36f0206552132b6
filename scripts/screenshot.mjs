// Makes pictures of the main views of the web console: starts the built service with a few recipes in a temporary folder,
// opens the console in Chromium, and writes the pictures of docs/images, which the README and the guide show. `--all FOLDER` writes every view
// into the folder as well: light, dark, and on a phone. Build first.
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { startServer } from '../examples/tour/server.mjs';
import { withTestModule } from './test-modules.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const images = path.join(root, 'docs', 'images');
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
  { name: 'transfer', hash: `#${collection}?_tab=transfer`, text: 'Format of the file' },
  { name: 'permissions', hash: `#${collection}?_tab=permissions`, text: 'Save permissions' },
  { name: 'members', hash: '#/buckets/kitchen/groups/cooks', text: 'Save members' },
  { name: 'requests', hash: `#/requests?_path=buckets%2Fkitchen`, text: 'As code' },
  { name: 'history', hash: `#${collection}/records/bread?_tab=history`, text: 'created' },
  { name: 'diff', hash: `#${collection}/records/soup?_tab=history`, text: 'this', act: openFirstChange },
  { name: 'bulk', hash: `#${collection}?_sort=title`, text: 'Pumpkin soup', act: selectRows },
  { name: 'import', hash: `#${collection}?_tab=transfer`, text: 'Import', act: chooseFile },
  { name: 'merge', hash: `#${collection}/records/salad`, text: 'Minutes', act: makeConflict },
  { name: 'file', hash: `#${collection}/records/risotto?_tab=file`, text: 'recipe.txt' },
  { name: 'review', hash: '#/buckets/signed/collections/menus?_tab=review', text: 'Who may do what' },
  { name: 'accounts', hash: '#/accounts', text: 'Only administrators' },
  { name: 'all-history', hash: '#/history', text: 'created' },
  { name: 'operations', hash: '#/operations', text: 'storage works', act: seeChart },
  { name: 'log', hash: '#/operations?_tab=log', text: 'loaded lines' },
  { name: 'missing', hash: '#/buckets/kitchen/collections/none', text: 'Try again' },
];

/** @typedef {import('playwright-core').Page} Page */

/** Shows the difference of the newest change. @param {Page} page */
async function openFirstChange(page) {
  await page.locator('.history summary').first().click();
  await page.locator('.diff').first().waitFor();
}

/** @param {Page} page */
async function seeChart(page) {
  await page.locator('canvas').first().waitFor();
}

/** @param {Page} page */
async function selectRows(page) {
  await page.getByLabel('Select bread').check();
  await page.getByLabel('Select curry').check();
  await page.getByRole('button', { name: 'Permissions of selected' }).click();
  await page.getByRole('dialog').waitFor();
}

/** @param {Page} page */
async function chooseFile(page) {
  const buffer = Buffer.from('id,title,minutes\npie,Apple pie,75\ntea,Mint tea,5\n');
  await page.locator('input[type=file]').setInputFiles({ name: 'recipes.csv', mimeType: 'text/csv', buffer });
  await page.getByText('2 rows.').waitFor();
}

let minutes = 25;

/** Saves after another client has changed the record. @param {Page} page */
async function makeConflict(page) {
  await page.getByLabel('Title *').fill('Warm lentil salad');
  await put(`${collection}/records/salad`, {
    title: 'Lentil and beet salad',
    minutes: (minutes += 5),
    tags: ['quick'],
  });
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('dialog').waitFor();
}

const authorization = `Basic ${btoa(`${user.name}:${user.password}`)}`;

/** Stores an object of the user. @param {string} place @param {object} data */
async function put(place, data) {
  const headers = { authorization, 'content-type': 'application/json' };
  const response = await fetch(server.api + place, { method: 'PUT', headers, body: JSON.stringify({ data }) });
  if (!response.ok) throw new Error(`PUT ${place}: ${response.status} ${await response.text()}`);
}

/** Pictures of the README and of the guide, with their views. */
const documented = /** @type {const} */ ([
  ['console.png', 'records'],
  ['console-form.png', 'form'],
  ['console-schema.png', 'schema'],
  ['console-merge.png', 'merge'],
  ['console-operations.png', 'operations'],
]);

/** Stores the recipes. */
async function fill() {
  for (const id of ['archive', 'garden', 'kitchen']) await put(`/buckets/${id}`, {});
  await put('/buckets/kitchen/collections/menus', {});
  await put('/buckets/kitchen/groups/cooks', { members: ['basicauth:bob'] });
  await put(collection, { displayFields: ['title', 'minutes', 'tags', 'rating'], schema });
  for (const { id, ...data } of recipes) await put(`${collection}/records/${id}`, data);
  await put(`${collection}/records/soup`, {
    title: 'Pumpkin soup',
    minutes: 25,
    tags: ['quick', 'autumn'],
    rating: 4.4,
  });
  await put('/buckets/signed', {});
  await put('/buckets/signed/collections/menus', {});
  await put('/buckets/signed/collections/menus/records/monday', { title: 'Pumpkin soup' });
  const form = new FormData();
  form.append('attachment', new Blob(['Stir the rice for 20 minutes.\n'], { type: 'text/plain' }), 'recipe.txt');
  const file = { method: 'POST', headers: { authorization }, body: form };
  const response = await fetch(`${server.api}${collection}/records/risotto/attachment`, file);
  if (!response.ok) throw new Error(`The file: ${response.status} ${await response.text()}`);
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
 * @param {{ hash: string, text: string, act?: (page: Page) => Promise<void> }} view
 */
async function show(page, { hash, text, act }) {
  await page.goto(`${server.api}/admin/${hash}`);
  await page.locator('main').getByText(text).filter({ visible: true }).first().waitFor();
  await act?.(page);
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
      // A dialog would keep the next view from being opened.
      await page.reload();
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

const keyFolder = mkdtempSync(path.join(tmpdir(), 'coffer-screenshot-'));
const keys = generateKeyPairSync('ec', {
  namedCurve: 'P-384',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
writeFileSync(path.join(keyFolder, 'private.pem'), keys.privateKey, { mode: 0o600 });
writeFileSync(path.join(keyFolder, 'public.pem'), keys.publicKey);
const server = await startServer({
  SVC_INCLUDES: 'default_bucket history admin operations attachments signer accounts',
  SVC_MULTIAUTH_POLICIES: 'account basicauth',
  SVC_OPERATIONS_READ_PRINCIPALS: 'system.Authenticated',
  SVC_ATTACHMENT_BASE_PATH: path.join(keyFolder, 'files'),
  SVC_SIGNER_RESOURCES: '/buckets/signed -> /buckets/preview -> /buckets/public',
  SVC_SIGNER_TO_REVIEW_ENABLED: 'true',
  SVC_SIGNER_ECDSA_PRIVATE_KEY: path.join(keyFolder, 'private.pem'),
  SVC_SIGNER_ECDSA_PUBLIC_KEY: path.join(keyFolder, 'public.pem'),
  SVC_PROJECT_NAME: 'our kitchen',
  SVC_EXPERIMENTAL_COLLECTION_SCHEMA_VALIDATION: 'true',
});
const browser = await openBrowser();
try {
  await fill();
  if (options.all !== undefined) await shootAll(options.all);
  mkdirSync(images, { recursive: true });
  const page = await open({ width: 1100, height: 640, colorScheme: 'light' });
  for (const [file, name] of documented) {
    const view = views.find((each) => each.name === name);
    if (view === undefined) throw new Error(`Unknown view: ${name}`);
    await show(page, view);
    await page.screenshot({ path: path.join(images, file) });
    await page.reload();
    console.log(path.join('docs', 'images', file));
  }
} finally {
  await browser.close();
  await server.stop();
  rmSync(keyFolder, { recursive: true, force: true });
}
