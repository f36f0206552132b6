// Checks of a view that every area of the console has to pass: axe-core, and the width of a phone.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Visitor } from './visitor.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Expects that axe-core finds nothing in the page as it is shown. */
export async function expectAccessible(page: Page, view: string): Promise<void> {
  await expect.poll(() => page.locator('.loading').count()).toBe(0);
  await page.evaluate(axe);
  const result = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
  };
  const found = result.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  expect([view, found]).toEqual([view, []]);
}

/** Expects that the view as it is shown is accessible in light, in dark and on a phone, and not too wide. Afterwards the page has its old size. */
export async function expectGoodView(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await expectAccessible(page, `${colorScheme} ${name}`);
    await takePicture(page, `${name}-${colorScheme}`);
  }
  const size = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 844 });
  await expectAccessible(page, `phone ${name}`);
  expect([name, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([name, 390]);
  await takePicture(page, `${name}-phone`);
  if (size !== null) await page.setViewportSize(size);
}

/** Visits views, and expects that they are good. */
export async function expectGoodViews(visitor: Visitor, views: readonly string[]): Promise<void> {
  for (const view of views) {
    await visitor.go(view);
    await expectGoodView(visitor.page, view);
  }
}

/** Keeps a picture of the view, in the folder that the environment names. */
async function takePicture(page: Page, name: string): Promise<void> {
  const folder = process.env['COFFER_CONSOLE_PICTURES'];
  if (folder === undefined) return;
  await page.screenshot({ path: `${folder}/${name.replaceAll(/[^\w-]+/g, '_')}.png`, fullPage: true });
}
