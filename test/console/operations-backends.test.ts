// The operating area of the console on every backend that the console is tested on.
import { expect, it } from 'vitest';
import { describeConsole } from './stage.ts';

const settings = {
  includes: 'admin operations quotas',
  operations_read_principals: 'system.Authenticated',
  operations_write_principals: 'system.Authenticated',
  'quotas.bucket_max_bytes': '100000',
};
const view = (tab: string): string => `#/operations?_tab=${tab}`;

describeConsole('The operating area of the console', { settings }, (stage) => {
  it('shows figures, slow requests, quotas and settings.', async () => {
    const { page, visitor } = stage;
    await stage.store({ bread: '{"title":"Bread"}' });
    await visitor.signIn('alice');
    await visitor.go(view('overview'));
    await page.getByText('storage works').waitFor();
    await page.getByRole('region', { name: 'Requests per second, by status' }).locator('canvas').waitFor();
    await visitor.go(view('slow'));
    await page.getByRole('row').getByText('/v1/batch').first().waitFor();
    // Files of the console are no requests for data.
    expect(await page.getByRole('row').getByText('/v1/admin/').count()).toBe(0);
    await visitor.go(view('quotas'));
    await page.getByText('kitchen').first().waitFor();
    await visitor.go(view('settings'));
    await page.getByText('storage_backend').first().waitFor();
    await visitor.go(view('backups'));
    await page.getByRole('heading', { level: 1, name: 'Operations' }).waitFor();
    await stage.checkView('operations-backups');
  });
});
