// A login at an OpenID provider with the helpers of the client, with requests in place of a browser.
import { expect, it, onTestFinished } from 'vitest';
import { bearer, Coffer, openIdLogin, openIdTokens } from '../../../packages/client/src/index.ts';
import { startTestService } from '../../../src/testing/index.ts';
import { ScriptedProvider } from '../../support/scripted-provider.ts';

it('The client begins a login, reads its tokens, and is the user who logged in.', async () => {
  const provider = await ScriptedProvider.start();
  onTestFinished(() => provider.close());
  provider.answers.set('/token', { access_token: 'of-ann', token_type: 'Bearer' });
  const service = await startTestService({
    settings: {
      includes: 'openid',
      'multiauth.policies': 'company',
      'multiauth.policy.company.use': 'OpenIDConnectPolicy',
      'multiauth.policy.company.issuer': provider.issuer,
      'multiauth.policy.company.client_id': 'app',
      'multiauth.policy.company.client_secret': 'secret',
    },
  });
  onTestFinished(() => service.close());

  const callback = 'http://localhost:3000/app?state=x#somewhere';
  const login = openIdLogin(`${service.origin}/v1`, { provider: 'company', callback });
  const first = await fetch(login, { redirect: 'manual' });
  expect(first.status).toBe(307);
  const asked = new URL(first.headers.get('location')!).searchParams;
  const back = `${asked.get('redirect_uri')!}?code=x&state=${asked.get('state')!}`;
  const cookie = first.headers.getSetCookie().map((each) => each.split(';')[0]!);
  const second = await fetch(back, { redirect: 'manual', headers: { cookie: cookie.join('; ') } });
  const address = second.headers.get('location')!;
  expect(address).toMatch(/^http:\/\/localhost:3000\/app\?state=x#tokens=/);

  const tokens = openIdTokens(address);
  expect(tokens).toMatchObject({ access_token: 'of-ann' });
  const coffer = new Coffer(service.origin, { auth: bearer(tokens!.access_token!) });
  expect((await coffer.info()).user?.id).toBe('company:ann');
});
