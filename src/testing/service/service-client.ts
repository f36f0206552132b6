// A running service and a client for it, for tests of plugins and of the service itself: real HTTP over a loopback port
// with keep-alive connections, and full control of the requests.
import { Agent, request as sendRequest, type IncomingMessage } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { silentLogger, type Logger } from '../../contracts/logger.ts';
import { createService, type Service, type ServiceOptions } from '../../app/service.ts';
import { settingsOf } from '../../backends/load-settings.ts';

export interface TestServiceOptions {
  /** Settings as a configuration file contains them; memory backends unless they name others. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly plugins?: NonNullable<ServiceOptions['plugins']>;
  readonly clock?: Clock;
  readonly authorization?: NonNullable<ServiceOptions['authorization']>;
  /** Default: no log. */
  readonly logger?: Logger;
}

export interface TestRequest {
  /** Name of a user, each with credentials of its own; anonymous by default. */
  readonly auth?: string;
  /** An array sends the header once for each value. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Sent as JSON, with its media type unless the headers name another one. */
  readonly body?: unknown;
  /** Sent unchanged and without a media type, instead of `body`. */
  readonly raw?: string | Uint8Array;
}

export interface TestResponse {
  readonly status: number;
  /** By lower-case name; repeated headers are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body; `undefined` when it is empty or not JSON. */
  readonly body: unknown;
  readonly text: string;
}

/** Sends requests to a service, always as the same caller. */
export interface TestClient {
  /** @param path with version prefix and query, percent-encoded */
  request(method: string, path: string, options?: TestRequest): Promise<TestResponse>;
}

export interface TestService extends TestClient {
  /** `http://127.0.0.1:port` */
  readonly origin: string;
  /** Handles a request without a socket. */
  readonly answer: Service['answer'];
  /** Returns a client that authenticates as this user unless a request says otherwise. */
  asUser(name: string): TestClient;
  /** Closes the connections and stops the service. */
  close(): Promise<void>;
}

/** The event loop is also that of the tests, so its delay says nothing about the service. */
const defaults = { userid_hmac_secret: 'secret for tests', max_event_loop_delay_ms: '0' };

/** Starts a service on a free loopback port. */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const { settings = {}, logger = silentLogger, plugins, clock, authorization } = options;
  const service = await createService({
    settings: settingsOf({ ...defaults, ...settings, host: '127.0.0.1', http_port: '0' }),
    logger,
    ...(plugins === undefined ? {} : { plugins }),
    ...(clock === undefined ? {} : { clock }),
    ...(authorization === undefined ? {} : { authorization }),
  });
  const { origin } = new URL(await service.listen());
  const agent = new Agent({ keepAlive: true });
  const request: TestClient['request'] = (method, path, sent = {}) => exchange({ agent, origin }, method, path, sent);
  return {
    origin,
    request,
    answer: (given) => service.answer(given),
    asUser: (auth) => ({ request: (method, path, sent) => request(method, path, { auth, ...sent }) }),
    async close() {
      agent.destroy();
      await service.close();
    },
  };
}

/** Returns the `Authorization` header of a user, for other clients. */
export function authorizationOf(user: string): string {
  return `Basic ${Buffer.from(`${user}:secret of ${user}`).toString('base64')}`;
}

interface Connection {
  readonly agent: Agent;
  readonly origin: string;
}

function exchange(
  { agent, origin }: Connection,
  method: string,
  path: string,
  options: TestRequest,
): Promise<TestResponse> {
  const body = bodyOf(options);
  const headers = headersOf(options, body);
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    // The path is passed unchanged: a URL object would normalise paths that tests make invalid on purpose.
    const outgoing = sendRequest({ agent, hostname, port, method, path, headers });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => void readResponse(incoming).then(resolve, reject));
    outgoing.end(body);
  });
}

function bodyOf({ body, raw }: TestRequest): string | Uint8Array | undefined {
  return raw ?? (body === undefined ? undefined : JSON.stringify(body));
}

function headersOf(
  { auth, headers = {}, raw }: TestRequest,
  body: string | Uint8Array | undefined,
): Record<string, string | string[]> {
  const given = Object.entries(headers).map(([name, value]) => {
    return [name, typeof value === 'string' ? value : [...value]] as const;
  });
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const added: Record<string, string> = {};
  if (body !== undefined && !names.has('transfer-encoding')) added['Content-Length'] = String(Buffer.byteLength(body));
  if (body !== undefined && raw === undefined) added['Content-Type'] = 'application/json';
  if (auth !== undefined) added['Authorization'] = authorizationOf(auth);
  const kept = Object.entries(added).filter(([name]) => !names.has(name.toLowerCase()));
  return Object.fromEntries<string | string[]>([...kept, ...given]);
}

async function readResponse(incoming: IncomingMessage): Promise<TestResponse> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  const headers = Object.entries(incoming.headersDistinct).map(
    ([name, values = []]) => [name, values.join(', ')] as const,
  );
  return {
    status: incoming.statusCode ?? 0,
    headers: Object.fromEntries<string>(headers),
    body: parseOrNothing(text),
    text,
  };
}

function parseOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The test judges plain text and empty bodies.
    return undefined;
  }
}
