// Random requests by several users against one store: no answer may blame the service, need much work or be malformed,
// and what was acknowledged is read back. COFFER_FUZZ_SECONDS makes it run longer, COFFER_FUZZ_SEED repeats a run.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getKey, isJsonObject, parseJson, type JsonObject } from '../../src/base/json.ts';
import type { TestResponse, TestService } from '../../src/testing/service/service-client.ts';
import { FileFolder } from '../support/attachments.ts';
import { FuzzFigures, usedMs } from './fuzz-figures.ts';
import { fuzzRequest, type FuzzRequest } from './requests.ts';
import { backends, requireDecent, startWatched } from './service.ts';
import { sized } from '../support/extent.ts';

const seconds = sized('COFFER_FUZZ_SECONDS', 2, 6);
const seed = Number(process.env['COFFER_FUZZ_SEED'] ?? String(Date.now() % 2 ** 31));
const requestsPerRound = 500;
const atOnce = 16;
const maxGrowthMiB = 40;

describe.each(backends)('random requests on $name', (backend) => {
  it(
    `All are answered decently, and no acknowledged write is lost (seed ${seed}).`,
    async () => {
      const folder = await FileFolder.create();
      const { service, errors } = await startWatched(backend, {
        includes: 'default_bucket history attachments changes',
        'attachment.base_path': folder.path,
      });
      const figures = new FuzzFigures();
      const end = performance.now() + seconds * 1000;
      try {
        for (let round = 0; round === 0 || performance.now() < end; round++) {
          // What was created in a round goes with it, so that memory that grows is not that of data.
          for (const request of [...closing, ...opening])
            await perform({ service, figures, isAlone: true }, request, 'opening');
          const requests = fc.sample(fuzzRequest, { seed: seed + round, numRuns: requestsPerRound });
          const isAlone = round % 2 === 0;
          const run = { service, figures, isAlone };
          const sendNext = async (): Promise<void> => {
            for (let request = requests.pop(); request !== undefined; request = requests.pop()) {
              if (round > 0 && performance.now() >= end) return;
              const label = `request ${requests.length} of seed ${seed + round}`;
              const response = await perform(run, request, label);
              if (isAlone) await requireKept(service, request, response, label);
              // Deletions and wrong permissions would soon leave nothing to attack.
              if (requests.length % 100 === 0) for (const repair of opening) await perform(run, repair, 'repair');
            }
          };
          await Promise.all(Array.from({ length: isAlone ? 1 : atOnce }, sendNext));
          if (round % 8 === 0) figures.weigh();
        }
        expect(errors).toEqual([]);
        console.log(`${backend.name}, seed ${seed}: ${figures.toString()}`);
        expect(figures.kindsBelow(400)).toBeGreaterThan(2);
        expect(figures.growthMiB()).toBeLessThan(maxGrowthMiB);
      } finally {
        await service.close();
        await folder.remove();
      }
    },
    seconds * 1000 + 30_000,
  );
});

const closing: readonly FuzzRequest[] = ['alice', 'bob'].map((user) => ({
  user,
  method: 'DELETE',
  path: '/v1/buckets',
  headers: {},
  body: undefined,
}));

const opened: readonly (readonly [path: string, data: object])[] = [
  ['/v1/buckets/a', {}],
  ['/v1/buckets/a/groups/a', {}],
  ['/v1/buckets/a/collections/a', { indexes: [{ fields: ['n', '-s'] }, { fields: ['o.k'], unique: true }] }],
  ['/v1/buckets/b', {}],
];
const opening = opened.map(([path, data]): FuzzRequest => ({
  user: 'alice',
  method: 'PUT',
  path,
  headers: {},
  body: JSON.stringify({ data, permissions: { write: ['system.Authenticated'] } }),
}));

interface Run {
  readonly service: TestService;
  readonly figures: FuzzFigures;
  /** Whether requests are sent one after another, so that the work of each is known. */
  readonly isAlone: boolean;
}

/** Sends a request and checks the answer. One that needs too much work has to need less when it is sent again. */
async function perform({ service, figures, isAlone }: Run, request: FuzzRequest, label: string): Promise<TestResponse> {
  const whole = `${label}: ${JSON.stringify(request)}`;
  const sendChecked = async (): Promise<{ readonly response: TestResponse; readonly isCostly: boolean }> => {
    const before = usedMs();
    const response = await send(service, request).catch((cause: unknown) => {
      throw new Error(`${whole}\nno answer`, { cause });
    });
    const used = usedMs() - before;
    figures.count(response.status);
    requireDecent(whole, response, hasNoJson(request, response));
    return { response, isCostly: isAlone && figures.isCostly(used, whole) };
  };
  const first = await sendChecked();
  if (!first.isCostly) return first.response;
  // A garbage collection, or a statement that is compiled, does not come twice.
  figures.costlyOnce++;
  const again = await sendChecked();
  expect(again.isCostly, whole).toBe(false);
  return again.response;
}

async function send(service: TestService, request: FuzzRequest): Promise<TestResponse> {
  try {
    return await sendOnce(service, request);
  } catch (error) {
    // A connection that was idle for seconds may be closed at the moment when it is used again.
    if (error instanceof Error && 'code' in error && error.code === 'ECONNRESET') return sendOnce(service, request);
    throw error;
  }
}

function sendOnce(service: TestService, { user, method, path, headers, body }: FuzzRequest): Promise<TestResponse> {
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  return service.request(method, toBytes(path), {
    ...(user === undefined ? {} : { auth: user }),
    headers: body === undefined || hasType ? headers : { 'Content-Type': 'application/json', ...headers },
    ...(body === undefined || method === 'TRACE' ? {} : { raw: body }),
  });
}

/** Reads back the acknowledged write, before other requests write. */
async function requireKept(
  service: TestService,
  request: FuzzRequest,
  response: TestResponse,
  label: string,
): Promise<void> {
  const { user, method, path, headers } = request;
  const isWrite = method === 'PUT' || method === 'PATCH' || method === 'POST';
  if (!isWrite || (response.status !== 200 && response.status !== 201)) return;
  if (!response.text.includes('"data":') || response.text.startsWith('{"responses"')) return;
  const answer = parseJson(response.text);
  const data = isJsonObject(answer) ? getKey(answer, 'data') : undefined;
  const id = isJsonObject(data) ? getKey(data, 'id') : undefined;
  const isPartial = Object.keys(headers).some((name) => name === 'Response-Behavior');
  if (!isJsonObject(data) || typeof id !== 'string' || isPartial || 'Authorization' in headers) return;
  const bare = path.split(/[?#]/)[0]!;
  const object = method === 'POST' ? `${bare}/${id}` : bare;
  const read = await service.request('GET', toBytes(object), user === undefined ? {} : { auth: user });
  const kept = read.status === 200 ? (parseJson(read.text) as JsonObject)['data'] : read.text;
  expect(kept, `${label}: ${JSON.stringify(request)}`).toEqual(data);
}

/** Node wants the bytes of a path one by one. */
function toBytes(path: string): string {
  return Buffer.from(path.replaceAll(/[\0-\x20\x7f]/g, encodeURIComponent), 'utf8').toString('latin1');
}

/** Answers to HEAD have no body, and the page about the API consists of files. */
function hasNoJson({ method, path }: FuzzRequest, { status }: TestResponse): boolean {
  return method === 'HEAD' || (status === 200 && /^\/v1\/docs(?:[/?]|$)/.test(path));
}
