// A service to be compared with the model: on any backend, asked through a socket and without, with a clock of the test's.
// The one file here that knows the service.
import { RequestBody } from '../../src/engine/exchange.ts';
import { authorizationOf } from '../../src/testing/service-client.ts';
import { createTestClock, type TestBackend, type TestService } from '../../src/testing/index.ts';
import type { Ask, Reply } from './exchange.ts';
import type { Json } from './json.ts';
import { maxBatch, type Account } from './model.ts';
import type { Subject } from './run.ts';
import { users } from './steps.ts';

const settings = {
  includes: 'default_bucket history flush',
  experimental_permissions_endpoint: 'true',
  batch_max_requests: String(maxBatch),
};

/** Starts a service with everything that the model knows. */
export async function openSubject(backend: TestBackend): Promise<Subject & { close(): Promise<void> }> {
  const clock = createTestClock();
  const service = await backend.start({ settings, clock });
  const accounts = new Map<string, Account>();
  for (const name of users) {
    const { body } = await service.request('GET', '/v1/', { auth: name });
    accounts.set(name, (body as { user: Account }).user);
  }
  return {
    accounts,
    clock,
    ask: (ask, door) => (door === 'http' ? askOverHttp(service, ask) : askInside(service, ask)),
    async flush() {
      await service.request('POST', '/v1/__flush__');
    },
    close: () => service.close(),
  };
}

async function askOverHttp(service: TestService, { user, method, target, headers, body }: Ask): Promise<Reply> {
  const {
    status,
    headers: given,
    text,
  } = await service.request(method, `/v1${target}`, {
    headers,
    ...(user === undefined ? {} : { auth: user }),
    ...(body === undefined ? {} : { body }),
  });
  return { status, headers: given, body: parse(text) };
}

async function askInside(service: TestService, { user, method, target, headers, body }: Ask): Promise<Reply> {
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const answer = await service.answer({
    method,
    target: `/v1${target}`,
    headers: {
      host: new URL(service.origin).host,
      ...(bytes === undefined ? {} : { 'content-type': 'application/json' }),
      ...(user === undefined ? {} : { authorization: authorizationOf(user) }),
      ...headers,
    },
    body: bytes === undefined ? RequestBody.none : RequestBody.ofBytes(bytes, { maxDepth: 100 }),
    origin: service.origin,
    id: 'model',
  });
  const given = Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const);
  // What is sent is the body of an answer to HEAD no more.
  const text = method === 'HEAD' ? '' : (answer.body as string);
  return { status: answer.status, headers: Object.fromEntries(given), body: parse(text) };
}

function parse(text: string): Json | undefined {
  return text === '' ? undefined : (JSON.parse(text) as Json);
}
