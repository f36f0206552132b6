// Plugin `openid`: authentication with access tokens of OpenID Connect providers, and the browser login at a provider.
// See docs/guides/authentication.md.
import type { JsonObject } from '../../base/json.ts';
import type { Context } from '../../engine/context.ts';
import { queryParameter, type OperationDescription } from '../../engine/description.ts';
import { plainText, type Endpoint } from '../../engine/endpoint.ts';
import type { ServiceResponse } from '../../engine/exchange.ts';
import { definePlugin } from '../../http/plugin.ts';
import { setting } from '../../settings/definition.ts';
import { list } from '../../settings/readers.ts';
import { compileCallbackRules } from './callback.ts';
import { handleLogin } from './login.ts';
import { Provider, type Providers } from './provider.ts';
import { requireProvider } from './query.ts';
import { handleToken } from './token-exchange.ts';

const settings = {
  openid_allowed_callbacks: setting(
    list('origins such as https://admin.example.org, or URLs whose subpaths are allowed'),
    'Callback URLs that may receive tokens after a login, in addition to the console of this service and loopback addresses. https://*.example.org allows all subdomains of example.org. * allows any URL, so an attacker whose link a user follows gets the token. Other pages at the origin of this service need an entry with a path.',
    { default: [], section: 'OpenID Connect' },
  ),
};

export const openid = definePlugin({
  name: 'openid',
  settings,
  setup(host) {
    const providers: Providers = new Map();
    const { securityState, clock, versionPrefix } = host;
    const { openid_allowed_callbacks: allowed } = host.settings.read(settings);
    if (allowed.includes('*')) {
      host.logger.warn('openid_allowed_callbacks contains *. Tokens can be sent to any URL in a link.');
    }
    const isHostConfigured = host.settings.get('http_host') !== undefined;
    const rules = compileCallbackRules(allowed);
    const options = { securityState, clock, versionPrefix, isHostConfigured, rules };
    return {
      policies: {
        OpenIDConnectPolicy(context) {
          const provider = new Provider(context, providers);
          providers.set(provider.name, provider);
          return provider;
        },
      },
      endpoints: [
        endpoint('openid-login', '/openid/{provider}/login', describeLogin, (context) =>
          handleLogin(options, context, requireProvider(context, providers)),
        ),
        endpoint('openid-token', '/openid/{provider}/token', describeToken, (context) =>
          handleToken(options, context, requireProvider(context, providers)),
        ),
      ],
      async start() {
        if (!isHostConfigured && providers.size > 0) {
          host.logger.warn('http_host is not set. OpenID logins work only in browsers on this machine, at localhost.');
        }
        await Promise.all([...providers.values()].map((provider) => provider.start()));
      },
      userInfo: ({ profile = {} }) => ({ profile }),
      capabilities: {
        openid: () =>
          providers.size === 0
            ? undefined
            : {
                description: 'Authenticates users with OpenID Connect.',
                url: host.documentationUrl('openid'),
                providers: [...providers.values()].map(describeProvider),
              },
      },
    };
  },
});

function endpoint(
  name: string,
  path: string,
  describe: () => OperationDescription,
  handle: (context: Context) => Promise<ServiceResponse>,
): Endpoint {
  const operations = { GET: { id: name, describe, handle } };
  return {
    name,
    tag: 'openid',
    path,
    parameters: { provider: plainText },
    isResource: false,
    ignoresCaller: true,
    operations,
  };
}

const string = { type: 'string' };

function describeLogin(): OperationDescription {
  return {
    summary: 'Redirects a browser to the login of a provider.',
    parameters: [
      { ...queryParameter('callback', 'URL that receives the token after the login.', string), isRequired: true },
      {
        ...queryParameter('scope', 'Scopes to request from the provider, separated by spaces.', string),
        isRequired: true,
      },
      queryParameter('prompt', 'Value for the parameter `prompt` of the provider.', string),
    ],
    responses: { 307: { description: 'The header `Location` leads to the provider.' } },
  };
}

function describeToken(): OperationDescription {
  return {
    summary: 'Exchanges the code of a provider for a token, and redirects the browser to the callback.',
    parameters: [
      { ...queryParameter('state', 'State of the login.', string), isRequired: true },
      queryParameter('code', 'Code of the provider.', string),
      queryParameter('error', 'Error of the provider.', string),
    ],
    responses: { 307: { description: 'The header `Location` leads to the callback, with the token in it.' } },
  };
}

function describeProvider({ name, parameters, known }: Provider): JsonObject {
  return {
    name,
    issuer: parameters.issuer,
    auth_path: `/openid/${name}/login`,
    client_id: parameters.client_id,
    audience: parameters.audience,
    header_type: parameters.header_type,
    userinfo_endpoint: known?.userinfoEndpoint ?? null,
  };
}
