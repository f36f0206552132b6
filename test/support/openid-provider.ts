// A real OpenID provider for tests, in this process: logins as a browser would do them, tokens of users without one,
// and a change of keys.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

export const client = {
  id: 'store',
  secret: 'a secret of the store',
  redirectUri: 'https://store.test/v1/openid/real/token',
};

export interface RealProvider {
  readonly issuer: string;
  readonly introspectionUrl: string;
  readonly userinfoUrl: string;
  /** An access token of a user: opaque, or for an audience a JWT. */
  issue(user: string, options?: { readonly audience?: string; readonly ttlSeconds?: number }): Promise<string>;
  revoke(token: string): Promise<void>;
  /** Signs with another key from here on, and forgets the old one. */
  changeKeys(): Promise<void>;
  /** Follows the address as the browser of a user who logs in and agrees; resolves to where the provider sends it. */
  logIn(address: string, user: string): Promise<URL>;
  /** Paths asked for so far. */
  readonly paths: readonly string[];
  close(): Promise<void>;
}

export async function startOpenidProvider(): Promise<RealProvider> {
  const paths: string[] = [];
  let current: Provider | undefined;
  const server = createServer((request, response) => {
    paths.push(request.url!.split('?')[0]!);
    void current!.callback()(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  current = await makeProvider(issuer);
  const findClient = async (): Promise<InstanceType<Provider['Client']>> => (await current!.Client.find(client.id))!;
  return {
    issuer,
    introspectionUrl: `${issuer}/token/introspection`,
    userinfoUrl: `${issuer}/me`,
    paths,
    async issue(user, { audience, ttlSeconds } = {}) {
      const provider = current!;
      const grant = new provider.Grant({ accountId: user, clientId: client.id });
      grant.addOIDCScope('openid email');
      if (audience !== undefined) grant.addResourceScope(audience, 'records');
      const token = new provider.AccessToken({
        accountId: user,
        client: await findClient(),
        grantId: await grant.save(),
        gty: 'authorization_code',
        scope: audience === undefined ? 'openid email' : 'records',
        ...(ttlSeconds === undefined ? {} : { expiresIn: ttlSeconds }),
      });
      if (audience !== undefined)
        token.resourceServer = new provider.ResourceServer(audience, resourceServer(audience));
      return token.save();
    },
    async revoke(token) {
      await (await current!.AccessToken.find(token))!.destroy();
    },
    async changeKeys() {
      current = await makeProvider(issuer);
    },
    logIn: (address, user) => logIn(issuer, address, user),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const resourceServer = (audience: string) =>
  ({ scope: 'records', audience, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }) as const;

async function makeProvider(issuer: string): Promise<Provider> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const key = { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: crypto.randomUUID() };
  return new Provider(issuer, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [client.redirectUri],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [key] },
    cookies: { keys: ['a key for cookies'] },
    ttl: { AccessToken: 3600, Grant: 3600, IdToken: 3600, Interaction: 3600, UnitOfWork: 3600 },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: id !== 'unverified' }),
    }),
    features: {
      devInteractions: { enabled: true },
      introspection: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, audience) => resourceServer(audience),
      },
    },
  });
}

/** Follows the pages of the provider, with its cookies, until it redirects the browser to another site. */
async function logIn(issuer: string, address: string, user: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let next = new URL(address);
  let form: Record<string, string> | undefined;
  for (let step = 0; step < 20; step++) {
    if (next.origin !== issuer) return next;
    const response: Response = await fetch(next, {
      redirect: 'manual',
      headers: { Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location !== null) {
      next = new URL(location, next);
      form = undefined;
      continue;
    }
    const page = await response.text();
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
    if (action === undefined || prompt === undefined)
      throw new Error(`${next.href} answered ${response.status}: ${page}`);
    next = new URL(action, next);
    form = { prompt, ...(prompt === 'login' ? { login: user, password: 'anything' } : {}) };
  }
  throw new Error('the login goes round in circles');
}
