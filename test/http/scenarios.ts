// Runs tables of HTTP scenarios: each row is a request with what its answer must be, possibly with requests before and
// after it. One service per table and backend; every row gets users and a bucket of its own.
import { AssertionError } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type TestResponse, type TestService, type TestServiceOptions } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { differences, mapTexts } from './match.ts';

/**
 * A request on one line: `[user:] METHOD path [JSON]`. Users are names; without one it is alice, and `nobody` is
 * anonymous. `/v1` is put before the path unless it starts with `^`. Written in braces: `{b}` the id of the bucket of the
 * scenario, `{B}` `{C}` `{R}` `{G}` the addresses of the bucket, its collection `c`, the records of that and the groups,
 * `{alice}` the id of a user, `{alice.name}` `{alice.password}` what alice logs in with, `{x.etag}` `{x.time}` `{x.id}` `{x.next}` of an answer saved as x; `{x.time+1}` adds.
 */
export type RequestLine = string;

/** A request and what is expected of its answer; in expectations `'{x.time}'` alone is a number. */
export interface Step {
  readonly request: RequestLine;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** A body as it is, without a media type. */
  readonly raw?: string | Uint8Array;
  /** Default: any success; a list: any of these. */
  readonly status?: number | readonly number[];
  readonly errno?: number;
  /** Location and name of every entry of `details`, in order; expects errno 107, and status 400 unless another is given. */
  readonly issues?: readonly (readonly [string, string | null])[];
  readonly body?: unknown;
  readonly text?: RegExp | string;
  /** Response headers, by lower-case name. */
  readonly gives?: Readonly<Record<string, unknown>>;
  readonly save?: string;
}

type Given = Step | RequestLine | 'bucket' | 'collection' | 'record';

export interface Scenario extends Step {
  /** A whole sentence. */
  readonly name: string;
  /** Requests that must succeed first; `collection` includes its bucket, `record` is `r` with `{"a":1}` in that. */
  readonly given?: readonly Given[];
  readonly then?: readonly (Step | RequestLine)[];
}

const presets: Readonly<Record<string, readonly RequestLine[]>> = {
  bucket: ['PUT {B}'],
  collection: ['PUT {B}', 'PUT {C}'],
  record: ['PUT {B}', 'PUT {C}', 'PUT {R}/r {"data":{"a":1}}'],
};

/** Declares the tests of a table, on every backend. */
export function describeScenarios(
  topic: string,
  scenarios: readonly Scenario[],
  options: TestServiceOptions = {},
): void {
  forEachBackend((backend) => {
    describe(`${topic} on ${backend.name}`, () => {
      let service: TestService;
      beforeAll(async () => {
        service = await backend.start(options);
      });
      afterAll(() => service.close());
      for (const scenario of scenarios) {
        it(scenario.name, () => runScenario(service, scenario));
      }
    });
  });
}

async function runScenario(service: TestService, scenario: Scenario): Promise<void> {
  const run = new Run(service);
  for (const given of scenario.given ?? []) {
    if (typeof given !== 'string') await run.step(given);
    else for (const request of presets[given] ?? [given]) await run.step({ request });
  }
  await run.step(scenario);
  for (const step of scenario.then ?? []) await run.step(typeof step === 'string' ? { request: step } : step);
}

class Run {
  readonly #service: TestService;
  readonly #token = randomBytes(5).toString('hex');
  readonly #values = new Map<string, string>();

  constructor(service: TestService) {
    this.#service = service;
    const bucket = `b${this.#token}`;
    const entries = { b: bucket, B: `/buckets/${bucket}`, G: `/buckets/${bucket}/groups` };
    const collection = `${entries.B}/collections/c`;
    for (const [key, value] of Object.entries({
      ...entries,
      C: collection,
      R: `${collection}/records`,
      origin: service.origin,
    })) {
      this.#values.set(key, value);
    }
    for (const user of ['alice', 'bob', 'carol']) {
      this.#values.set(`${user}.name`, this.#userName(user));
      this.#values.set(`${user}.password`, `secret of ${this.#userName(user)}`);
    }
  }

  async step(step: Step): Promise<void> {
    await this.#learnUsers(step);
    const line = this.#fill(step.request);
    const [, user = 'alice', method = '', target = '', body] =
      /^(?:(\w+): )?(\w+) (\S+)(?: ([\s\S]+))?$/.exec(line) ?? [];
    if (method === '') throw new AssertionError({ message: `not a request line: ${line}` });
    const path = target.startsWith('^') ? target.slice(1) : `/v1${target}`;
    const raw = typeof step.raw === 'string' ? this.#fill(step.raw) : (step.raw ?? body);
    const response = await this.#service.request(method, path, {
      ...(user === 'nobody' ? {} : { auth: this.#userName(user) }),
      headers: {
        ...(body === undefined || Object.keys(step.headers ?? {}).some((name) => name.toLowerCase() === 'content-type')
          ? {}
          : { 'Content-Type': 'application/json' }),
        ...(this.#expectation(step.headers ?? {}) as Record<string, string | string[]>),
      },
      ...(raw === undefined ? {} : { raw }),
    });
    const faults = [...this.#check(step, response), ...checkAlways(method, response)];
    if (faults.length > 0) {
      const message = [line, `${response.status} ${response.text.slice(0, 2000)}`, ...faults].join('\n');
      throw new AssertionError({ message });
    }
    if (step.save !== undefined) this.#save(step.save, response);
  }

  #check(step: Step, { status, headers, body, text }: TestResponse): readonly string[] {
    const expected = step.status ?? (step.issues === undefined ? undefined : 400);
    const faults: string[] = [];
    const isExpected =
      typeof expected === 'number' ? status === expected : (expected?.includes(status) ?? status < 300);
    if (!isExpected) faults.push(`expected status ${String(expected ?? '2xx')}`);
    if (step.gives !== undefined) faults.push(...differences(headers, this.#expectation(step.gives), '.headers'));
    if (step.body !== undefined) faults.push(...differences(body, this.#expectation(step.body), '.body'));
    if (step.errno !== undefined) faults.push(...differences(body, { errno: step.errno }, '.body'));
    if (step.text !== undefined)
      faults.push(...differences(text, typeof step.text === 'string' ? this.#fill(step.text) : step.text, '.text'));
    if (step.issues !== undefined) {
      const details = step.issues.map(([location, name]) => ({ location, name }));
      faults.push(...differences(body, { code: expected, errno: 107, error: 'Invalid parameters', details }, '.body'));
    }
    return faults;
  }

  #save(name: string, { headers, body }: TestResponse): void {
    const next = headers['next-page'];
    const target = next === undefined ? undefined : new URL(next);
    const data = (body as { data?: { id?: string } } | undefined)?.data;
    const saved = {
      etag: headers['etag'],
      time: headers['etag']?.replaceAll('"', ''),
      modified: headers['last-modified'],
      next: target === undefined ? undefined : `^${target.pathname}${target.search}`,
      token: target?.searchParams.get('_token') ?? undefined,
      id: data?.id,
    };
    for (const [key, value] of Object.entries(saved))
      if (value !== undefined) this.#values.set(`${name}.${key}`, value);
  }

  #userName(user: string): string {
    return `${user}-${this.#token}`;
  }

  /** User ids are what the service says they are. */
  async #learnUsers(step: Step): Promise<void> {
    const text = JSON.stringify([step.request, step.headers, step.raw, step.body, step.text, step.gives]);
    for (const [, user = ''] of text.matchAll(/\{(alice|bob|carol)\}/g)) {
      if (this.#values.has(user)) continue;
      const { body } = await this.#service.request('GET', '/v1/', { auth: this.#userName(user) });
      this.#values.set(user, (body as { user: { id: string } }).user.id);
    }
  }

  #fill(text: string): string {
    return text.replaceAll(
      /\{([a-zA-Z]\w*(?:\.[a-z]+)?)([+-]\d+)?\}/g,
      (_whole, name: string, sum: string | undefined) => {
        const value = this.#values.get(name);
        if (value === undefined) throw new Error(`nothing is known as {${name}}`);
        return sum === undefined ? value : String(Number(value) + Number(sum));
      },
    );
  }

  #expectation(value: unknown): unknown {
    return mapTexts(value, (text) => {
      const filled = this.#fill(text);
      return /^\{\w+\.time(?:[+-]\d+)?\}$/.test(text) ? Number(filled) : filled;
    });
  }
}

/** What holds for every answer, whatever was asked. */
function checkAlways(method: string, { status, headers, body, text }: TestResponse): readonly string[] {
  const faults: string[] = [];
  // A heartbeat that is not well answers with its own body, and no client is to come back for it.
  if (text.startsWith('{"storage":')) return [];
  const isEmpty = method === 'HEAD' || status === 304 || status === 204;
  if (isEmpty && text !== '') faults.push('expected no body');
  if (status >= 400 && !isEmpty) {
    faults.push(...differences(body, { code: status }, '.body'));
    if (!/^\d+$/.test(String((body as { errno?: unknown } | undefined)?.errno))) faults.push('expected an errno');
    if (JSON.stringify(body)?.includes(':null,"error"')) faults.push('expected no empty fields');
  }
  if (status === 401 && headers['www-authenticate'] === undefined) faults.push('expected a challenge');
  if (status === 403 && headers['www-authenticate'] !== undefined) faults.push('expected no challenge');
  if ((status === 409 || status === 503) && !/^\d+$/.test(headers['retry-after'] ?? ''))
    faults.push('expected Retry-After');
  if (status === 405 && headers['allow'] === undefined) faults.push('expected Allow');
  if (method !== 'OPTIONS' && headers['access-control-expose-headers'] === undefined)
    faults.push('expected exposed headers');
  if (headers['content-type']?.startsWith('application/json') === true) {
    faults.push(
      ...differences(
        headers,
        {
          'x-content-type-options': 'nosniff',
          'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none';",
        },
        '.headers',
      ),
    );
  }
  return faults;
}
