// An OpenID provider that misbehaves as tests tell it to, with keys that they hold.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  CompactSign,
  exportJWK,
  generateKeyPair,
  SignJWT,
  type CryptoKey,
  type JWK,
  type JWTHeaderParameters,
} from 'jose';

export interface Key {
  readonly id: string | undefined;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
/** A value is sent as JSON. */
export type Answer = Handler | object;

export class ScriptedProvider {
  readonly issuer: string;
  /** What each path answers; tests change it. */
  readonly answers = new Map<string, Answer>();
  /** Paths with what they were asked, in their order. */
  readonly requests: { readonly path: string; readonly authorization: string | undefined; readonly body: string }[] =
    [];
  readonly #close: () => Promise<void>;

  private constructor(issuer: string, close: () => Promise<void>) {
    this.issuer = issuer;
    this.#close = close;
  }

  static async start(): Promise<ScriptedProvider> {
    const server = createServer((request, response) => void provider.#answer(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const provider = new ScriptedProvider(
      issuer,
      () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    );
    provider.answers.set('/.well-known/openid-configuration', provider.metadata());
    provider.answers.set('/me', { sub: 'ann' });
    return provider;
  }

  metadata(changes: Readonly<Record<string, string | undefined>> = {}): Record<string, string | undefined> {
    const { issuer } = this;
    return {
      issuer,
      authorization_endpoint: `${issuer}/auth?tenant=1`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/me`,
      jwks_uri: `${issuer}/keys`,
      ...changes,
    };
  }

  publish(...keys: readonly Key[]): void {
    this.answers.set('/keys', { keys: keys.map(({ publicJwk }) => publicJwk) });
  }

  /** How often a path was asked for. */
  count(path: string): number {
    return this.requests.filter((request) => request.path === path).length;
  }

  close(): Promise<void> {
    return this.#close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url!.split('?')[0]!;
    const body = Buffer.concat(chunks).toString('utf8');
    this.requests.push({ path, authorization: request.headers.authorization, body });
    const answer = this.answers.get(path);
    if (typeof answer === 'function') (answer as Handler)(request, response);
    else respond(answer === undefined ? 404 : 200, answer ?? {})(request, response);
  }
}

/** A handler that answers with JSON. */
export function respond(status: number, body: unknown): Handler {
  return (_request, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

export async function makeKey(id: string | undefined, algorithm = 'ES256'): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  const named = id === undefined ? {} : { kid: id };
  return { id, privateKey, publicJwk: { ...(await exportJWK(publicKey)), ...named, alg: algorithm, use: 'sig' } };
}

/** A signed token. */
export function sign(
  claims: Record<string, unknown>,
  key: Key,
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: key.publicJwk.alg!, ...(key.id === undefined ? {} : { kid: key.id }), ...header })
    .sign(key.privateKey);
}

/** A signed token with this text as its claims. */
export function signText(claims: string, key: Key): Promise<string> {
  return new CompactSign(new TextEncoder().encode(claims))
    .setProtectedHeader({ alg: key.publicJwk.alg!, ...(key.id === undefined ? {} : { kid: key.id }) })
    .sign(key.privateKey);
}
