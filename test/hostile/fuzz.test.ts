// Random requests by several users against one store: no answer may blame the service, take long or be malformed, and
// what was acknowledged is read back. COFFER_FUZZ_SECONDS makes it run longer, COFFER_FUZZ_SEED repeats a run.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getKey, isJsonObject, parseJson, type JsonObject } from '../../src/base/json.ts';
import type { TestResponse, TestService } from '../../src/testing/service-client.ts';
import { fuzzRequest, type FuzzRequest } from './requests.ts';
import { backends, requireDecent, startWatched } from './service.ts';

const seconds = Number(process.env['COFFER_FUZZ_SECONDS'] ?? '6');
const seed = Number(process.env['COFFER_FUZZ_SEED'] ?? String(Date.now() % 2 ** 31));

describe.each(backends)('random requests on $name', (backend) => {
  it(
    `All are answered decently, and no acknowledged write is lost (seed ${seed}).`,
    async () => {
      const { service, errors } = await startWatched(backend);
      const tally = new Map<number, number>();
      try {
        for (const [index, request] of opening.entries()) await perform(service, request, `opening ${index}`);
        const requests = fc.sample(fuzzRequest, { seed, numRuns: 4000 });
        const end = performance.now() + seconds * 1000;
        let sent = 0;
        for (let round = 0; performance.now() < end; round++) {
          const batch = round === 0 ? requests : fc.sample(fuzzRequest, { seed: seed + round, numRuns: 4000 });
          for (const request of batch) {
            if (performance.now() >= end) break;
            const { status } = await perform(service, request, `request ${sent} of seed ${seed}`);
            tally.set(status, (tally.get(status) ?? 0) + 1);
            sent++;
            // Deletions and wrong permissions would soon leave nothing to attack.
            if (sent % 100 === 0) for (const repair of opening) await perform(service, repair, 'repair');
          }
        }
        expect(errors).toEqual([]);
        console.log(
          `${backend.name}: ${sent} requests, seed ${seed}`,
          Object.fromEntries([...tally].toSorted((a, b) => a[0] - b[0])),
        );
        expect([...tally.keys()].filter((status) => status < 400).length).toBeGreaterThan(2);
      } finally {
        await service.close();
      }
    },
    seconds * 1000 + 30_000,
  );
});

const opening: readonly FuzzRequest[] = [
  '/v1/buckets/a',
  '/v1/buckets/a/groups/a',
  '/v1/buckets/a/collections/a',
  '/v1/buckets/b',
].map((path) => ({
  user: 'alice',
  method: 'PUT',
  path,
  headers: {},
  body: '{"permissions":{"write":["system.Authenticated"]}}',
}));

/** Sends a request, checks the answer, and reads back what it acknowledges before anybody else writes. */
async function perform(service: TestService, request: FuzzRequest, label: string): Promise<TestResponse> {
  const whole = `${label}: ${JSON.stringify(request)}`;
  const { user, method, path, headers, body } = request;
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  const started = performance.now();
  const sending = service.request(method, toBytes(path), {
    ...(user === undefined ? {} : { auth: user }),
    headers: body === undefined || hasType ? headers : { 'Content-Type': 'application/json', ...headers },
    ...(body === undefined || method === 'TRACE' ? {} : { raw: body }),
  });
  const response = await sending.catch((cause: unknown) => {
    throw new Error(`${whole}\nno answer`, { cause });
  });
  requireDecent(whole, response, performance.now() - started, method === 'HEAD');
  const isWrite = method === 'PUT' || method === 'PATCH' || method === 'POST';
  if (isWrite && (response.status === 200 || response.status === 201))
    await requireKept(service, request, response, whole);
  return response;
}

async function requireKept(
  service: TestService,
  request: FuzzRequest,
  response: TestResponse,
  label: string,
): Promise<void> {
  const { user, method, path, headers } = request;
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
  expect(kept, label).toEqual(data);
}

/** Node wants the bytes of a path one by one. */
function toBytes(path: string): string {
  return Buffer.from(path.replaceAll(/[\0-\x20\x7f]/g, encodeURIComponent), 'utf8').toString('latin1');
}
