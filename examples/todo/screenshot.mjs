// Makes the pictures of the README: two users with one list, offline and with a conflict. Needs Chromium and a build of the
// service.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { chromium } from 'playwright-core';
import { withTestModule } from '../../scripts/test-modules.mjs';
import { startServer } from '../tour/server.mjs';
import { buildPage, createBucket, environment, servePage } from './serve.mjs';

const password = 'correct-horse';
const outDir = mkdtempSync(path.join(tmpdir(), 'coffer-todo-'));
const images = path.join(import.meta.dirname, 'images');

/** Opens a window of a user. @param {string} name */
async function open(name) {
  const context = await browser.newContext({ viewport: { width: 720, height: 560 } });
  const page = await context.newPage();
  await page.goto(pages.origin);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  const field = (/** @type {string} */ label) => page.getByLabel(label, { exact: true });
  return {
    page,
    context,
    /** @param {string} label @param {string} text @param {string} button */
    submit: async (label, text, button) => {
      await field(label).fill(text);
      await page.getByRole('button', { name: button, exact: true }).click();
    },
    /** @param {string} title @param {string} to */
    rename: async (title, to) => {
      const input = page.locator(`.item:has([aria-label="Done: ${title}"])`).getByLabel('Title');
      await input.fill(to);
      await input.blur();
    },
    /** @param {string} text */
    sees: (text) => page.getByText(text).first().waitFor(),
    /** @param {string} picture */
    shoot: (picture) => page.screenshot({ path: path.join(images, `${picture}.png`) }),
  };
}

const server = await startServer(environment);
await buildPage(outDir);
await createBucket(server.api, password);
const pages = await servePage(new URL(server.api).origin, { outDir });
const browser = await withTestModule('/test/support/chromium.ts', async ({ findChromium }) => {
  const { path: executablePath, environment: own } = await findChromium();
  return chromium.launch({ executablePath, env: { ...process.env, ...own } });
});
try {
  const [alice, bob] = await Promise.all([open('alice'), open('bob')]);
  await alice.submit('Title of the new list', 'Party', 'Create');
  await alice.submit('Name of the user', 'bob', 'Share');
  for (const title of ['Buy lemonade', 'Bake a cake', 'Invite Zoe']) await alice.submit('New item', title, 'Add');
  await bob.page.getByRole('link', { name: 'Party' }).click();
  await bob.page.getByLabel('Done: Invite Zoe').check();
  await alice.page.locator('.item.done').waitFor();

  await bob.context.setOffline(true);
  await bob.rename('Bake a cake', 'Bake a lemon cake');
  await bob.submit('New item', 'Find candles', 'Add');
  await bob.sees('2 changed here');
  await alice.rename('Bake a cake', 'Order a cake');
  await alice.sees('All changes are saved.');
  await alice.shoot('alice-online');
  await bob.shoot('bob-offline');

  await bob.context.setOffline(false);
  await alice.sees('Use “Bake a lemon cake” by bob');
  await bob.sees('Use “Bake a lemon cake” by bob');
  await bob.sees('All changes are saved.');
  await alice.shoot('alice-conflict');
} finally {
  await browser.close();
  await pages.close();
  await server.stop();
  rmSync(outDir, { recursive: true });
}
