// The door of the console in a real browser: accounts, and logins at a provider of OpenID Connect.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { ScriptedProvider } from '../support/scripted-provider.ts';
import { openBrowser, Visitor } from './visitor.ts';

describe('Signing in at the console', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await openBrowser();
  }, 300_000);
  afterAll(() => browser.close());

  async function open(settings: Record<string, string>): Promise<{ service: TestService; visitor: Visitor }> {
    const service = await startTestService({ settings });
    const visitor = await Visitor.come(browser, service);
    onTestFinished(async () => {
      await visitor.leave();
      await service.close();
    });
    return { service, visitor };
  }

  it('takes the password of an account, in any letters, and no other.', async () => {
    const { service, visitor } = await open({
      includes: 'admin accounts',
      account_hash_cost: '10',
      'multiauth.policies': 'account',
      account_create_principals: 'system.Everyone',
    });
    const data = { password: 'pässword ☂' };
    expect(await service.request('PUT', '/v1/accounts/ann', { body: { data } })).toMatchObject({ status: 201 });
    const { page } = visitor;
    await page.getByLabel('Name').fill('ann');
    await page.getByLabel('Password').fill('guess');
    await page.getByLabel('Password').press('Enter');
    await page.getByRole('alert').getByText('The service did not accept the sign-in.').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await visitor.signIn('ann', data.password);
    await page.getByText('account:ann', { exact: true }).waitFor();
    expect(visitor.faults).toEqual([]);
  });

  it('goes to a provider and comes back with a token, and takes no token that it did not ask for.', async () => {
    const provider = await ScriptedProvider.start();
    onTestFinished(() => provider.close());
    provider.answers.set('/auth', (request, response) => {
      const asked = new URL(request.url!, provider.issuer).searchParams;
      const back = `${asked.get('redirect_uri')!}?code=x&state=${asked.get('state')!}`;
      response.writeHead(302, { Location: back }).end();
    });
    provider.answers.set('/token', { access_token: 'of-ann', token_type: 'Bearer' });
    const { service, visitor } = await open({
      includes: 'admin openid',
      'multiauth.policies': 'company',
      'multiauth.policy.company.use': 'OpenIDConnectPolicy',
      'multiauth.policy.company.issuer': provider.issuer,
      'multiauth.policy.company.client_id': 'console',
      'multiauth.policy.company.client_secret': 'secret',
    });
    const { page } = visitor;
    await page.getByRole('button', { name: 'Sign in with company' }).click();
    await page.getByText('company:ann', { exact: true }).waitFor();
    expect(page.url()).toBe(`${service.origin}/v1/admin/#/`);
    // The provider itself is the one place that the browser was sent to.
    expect(visitor.faults.filter((fault) => !fault.startsWith(`request: ${provider.issuer}/auth`))).toEqual([]);

    const tokens = encodeURIComponent(btoa(JSON.stringify({ access_token: 'of-ann' })));
    const other = await Visitor.come(browser, service);
    await other.page.goto(`${service.origin}/v1/admin/?link#tokens=${tokens}`);
    await other.page.getByRole('button', { name: 'Sign in with company' }).waitFor();
    expect(await other.page.evaluate('sessionStorage.length')).toBe(0);
    await other.leave();
  });
});
