// A service to be compared with the model: on any backend, asked through a socket and without, with a clock of the test's.
// The one file here that knows the service.
import { silentLogger, type Logger } from '../../src/contracts/logger.ts';
import { LaterBody, OpenBody, RequestBody, type ResponseBody } from '../../src/engine/exchange.ts';
import { authorizationOf } from '../../src/testing/service/service-client.ts';
import { createTestClock, startTestService, type TestBackend, type TestService } from '../../src/testing/index.ts';
import { boundary, FileFolder, formBytes } from '../support/attachments.ts';
import { contentOf, extensions, maxFileBytes } from './attachments.ts';
import type { Ask, Reply } from './exchange.ts';
import type { Json } from './json.ts';
import { formatJson, parseJson } from './numbers.ts';
import { maxBatch, type Account } from './model.ts';
import type { Subject } from './run.ts';
import { users } from './steps.ts';
import { full, grantsFor, type World } from './world.ts';

/** What fails inside is seen by clients as a sentence only; it may not come again with the same seed. */
const outspoken: Logger = { ...silentLogger, error: print };

function print(fields: object | string, message?: string): void {
  console.error(message ?? fields, fields);
}

/** Starts a service as it is in this world. */
export async function openSubject(
  backend: TestBackend,
  world: World = full,
): Promise<Subject & { close(): Promise<void> }> {
  const clock = createTestClock();
  const accounts = await findAccounts();
  const folder = await FileFolder.create();
  const service = await backend.start({ settings: settingsOf(world, accounts, folder.path), clock, logger: outspoken });
  return {
    world: { ...world, searchesText: backend.name !== 'redis' },
    accounts,
    clock,
    ask: (ask, door) => (door === 'http' ? askOverHttp(service, ask) : askInside(service, ask)),
    async flush() {
      await service.request('POST', '/v1/__flush__');
    },
    async close() {
      await service.close();
      await folder.remove();
    },
  };
}

/** Ids of users follow from their credentials and the secret that all services of tests have. */
async function findAccounts(): Promise<ReadonlyMap<string, Account>> {
  const service = await startTestService({ settings: { includes: 'default_bucket' } });
  const accounts = new Map<string, Account>();
  for (const name of users) {
    const { body } = await service.request('GET', '/v1/', { auth: name });
    const { user } = body as { user: Omit<Account, 'authorization'> };
    accounts.set(name, { ...user, authorization: authorizationOf(name) });
  }
  await service.close();
  return accounts;
}

function settingsOf(
  world: World,
  accounts: ReadonlyMap<string, Account>,
  folder: string,
): Readonly<Record<string, string>> {
  const files = {
    'attachment.base_path': folder,
    'attachment.extensions': extensions.join('+'),
    'attachment.max_size_bytes': String(maxFileBytes),
  };
  const grants = grantsFor(world, (user) => accounts.get(user)!.id);
  return {
    includes: `default_bucket flush ${world.hasHistory ? 'history' : ''} ${world.hasAttachments ? 'attachments' : ''}`,
    experimental_collection_schema_validation: String(world.validatesSchemas),
    ...(world.hasAttachments ? files : {}),
    experimental_permissions_endpoint: 'true',
    batch_max_requests: String(maxBatch),
    ...Object.fromEntries([...grants].map(([name, principals]) => [name, principals.join(' ')])),
  };
}

async function askOverHttp(service: TestService, ask: Ask): Promise<Reply> {
  const { user, method, target, headers, body } = ask;
  const form = formOf(ask);
  const {
    status,
    headers: given,
    text,
  } = await service.request(method, `/v1${target}`, {
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers, ...form?.headers },
    ...(user === undefined ? {} : { auth: user }),
    ...(form === undefined ? {} : { raw: form.bytes }),
    ...(body === undefined ? {} : { raw: formatJson(body) }),
  });
  return { status, headers: given, body: parse(text) };
}

async function askInside(service: TestService, ask: Ask): Promise<Reply> {
  const { user, method, target, headers, body } = ask;
  const form = formOf(ask);
  const bytes = body === undefined ? undefined : Buffer.from(formatJson(body));
  const answer = await service.answer({
    method,
    target: `/v1${target}`,
    headers: {
      host: new URL(service.origin).host,
      ...(bytes === undefined ? {} : { 'content-type': 'application/json' }),
      ...(user === undefined ? {} : { authorization: authorizationOf(user) }),
      ...headers,
      ...form?.headers,
    },
    body:
      form !== undefined
        ? RequestBody.ofStream(oneByOne([form.bytes]))
        : bytes === undefined
          ? RequestBody.none
          : RequestBody.ofBytes(bytes, { maxDepth: 100, maxValues: 100_000 }),
    origin: service.origin,
    id: 'model',
  });
  const given = Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const);
  // What is sent is the body of an answer to HEAD no more.
  const text = method === 'HEAD' ? '' : await textOf(answer.body);
  return { status: answer.status, headers: Object.fromEntries(given), body: parse(text) };
}

function formOf({ form }: Ask): { bytes: Buffer; headers: Readonly<Record<string, string>> } | undefined {
  if (form === undefined) return undefined;
  const parts = form.map(({ name, filename, type, ...part }) => ({
    name,
    ...(filename === undefined ? {} : { filename }),
    ...(type === undefined ? {} : { type }),
    content: contentOf({ name, ...part }),
  }));
  return { bytes: formBytes(parts), headers: { 'content-type': `multipart/form-data; boundary=${boundary}` } };
}

async function* oneByOne(chunks: readonly Buffer[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}

async function textOf(body: ResponseBody): Promise<string> {
  if (typeof body === 'string') return body;
  const chunks: Uint8Array[] = [];
  if (body instanceof Uint8Array) chunks.push(body);
  else if (body instanceof OpenBody || body instanceof LaterBody)
    throw new Error('The model expects no live responses.');
  else for await (const chunk of body) chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): Json | undefined {
  return text === '' ? undefined : (parseJson(text) as Json);
}
