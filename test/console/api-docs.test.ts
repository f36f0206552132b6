// The API page in a browser: it shows every operation, sends requests, and keeps to its policy.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { openBrowser } from './visitor.ts';

let browser: Browser;
let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  browser = await openBrowser();
}, 120_000);
afterAll(async () => {
  await browser.close();
  await service.close();
});

it('shows the operations, sends a request as a user, and loads nothing from elsewhere', async () => {
  const context = await browser.newContext();
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || /Content Security Policy/i.test(message.text())) faults.push(message.text());
  });
  page.on('request', (request) => {
    if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(`${service.origin}/v1/`)) {
      faults.push(request.url());
    }
  });
  await page.goto(`${service.origin}/v1/docs`);
  await page.getByRole('button', { name: 'Authorize' }).click();
  await page.getByLabel('Username').fill('alice');
  await page.getByLabel('Password').fill('secret of alice');
  await page.getByLabel('Apply credentials').click();
  await page.getByRole('button', { name: 'Close' }).first().click();

  await page.locator('#operations-tag-Utilities').click();
  const operation = page.locator('#operations-Utilities-server_info');
  await operation.getByRole('button').first().click();
  await operation.getByRole('button', { name: 'Try it out' }).click();
  await operation.getByRole('button', { name: 'Execute' }).click();
  await expect.poll(() => operation.locator('.live-responses-table').innerText()).toContain('basicauth:');

  await page.locator('#operations-tag-Records').click();
  const summary = page.locator('#operations-Records-patch_record');
  expect(await summary.innerText()).toContain('/buckets/{bucket_id}/collections/{collection_id}/records/{record_id}');
  expect(faults).toEqual([]);
  await context.close();
});
