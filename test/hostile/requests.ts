// A grammar of requests, from well-formed ones over small mutations to garbage, for the fuzzer.
import fc from 'fast-check';
import { place, prefix, query, suffix } from './addresses.ts';
import { batch, body, envelope, operation } from './bodies.ts';

export interface FuzzRequest {
  readonly user: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or what is none. */
  readonly body: string | undefined;
}

const header: fc.Arbitrary<[string, string]> = fc.oneof(
  fc.tuple(
    fc.constantFrom('If-Match', 'If-None-Match'),
    fc.constantFrom(
      '*',
      '*',
      '*',
      '"1"',
      '"0"',
      '1',
      'W/"1"',
      '""',
      '*x',
      '"1","2"',
      `"${'9'.repeat(400)}"`,
      '"-1"',
      '\u00e9',
    ),
  ),
  fc.tuple(
    fc.constant('Content-Type'),
    fc.constantFrom(
      'application/json',
      'application/json-patch+json',
      'application/merge-patch+json',
      'text/plain',
      'APPLICATION/JSON; charset=x',
      '',
      ';',
      'a/b/c',
      'application/json;;',
      '\u00e9',
    ),
  ),
  fc.tuple(
    fc.constant('Accept'),
    fc.constantFrom('*/*', 'text/html', 'application/json;q=0', '', ';q=', 'application/*;q=x', ',,,'),
  ),
  fc.tuple(fc.constant('Origin'), fc.constantFrom('null', 'https://x', '*', '\u00e9', '')),
  fc.tuple(fc.constant('Response-Behavior'), fc.constantFrom('light', 'diff', 'full', 'LIGHT', '')),
  fc.tuple(fc.constant('X-Request-Id'), fc.constantFrom('a', 'a b', '\u00e9', 'x'.repeat(500))),
  fc.tuple(
    fc.constant('Authorization'),
    fc.constantFrom(
      'Basic',
      'Basic ====',
      'Basic Og==',
      'Basic OmE=',
      'Bearer x',
      'Basic /w==',
      `Basic ${'A'.repeat(3000)}`,
      '\u00e9',
    ),
  ),
  fc.tuple(fc.constant('Host'), fc.constantFrom('x', 'x:1', 'a/b', '', '\u00e9', '[::1]')),
  fc.tuple(
    fc.constantFrom('Access-Control-Request-Method', 'Access-Control-Request-Headers'),
    fc.constantFrom('GET', 'x, y', '\u00e9', ''),
  ),
);

const user = fc.constantFrom('alice', 'alice', 'alice', 'bob', 'bob', undefined);
const method = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.constantFrom('GET', 'GET', 'HEAD', 'POST', 'PUT', 'PUT', 'PUT', 'PATCH', 'PATCH', 'DELETE'),
  },
  { weight: 1, arbitrary: fc.constantFrom('OPTIONS', 'TRACE', 'PROPFIND') },
);

/** What a client might well ask for: a method that the address serves, and a body of the right form. */
const likely: fc.Arbitrary<FuzzRequest> = fc
  .tuple(
    user,
    place,
    query,
    fc.nat(9),
    envelope,
    fc.array(operation, { maxLength: 3 }),
    fc.constantFrom('', '', 'merge-patch+', 'json-patch+'),
  )
  .map(([by, path, search, pick, content, operations, format]) => {
    const isObject = path.split('/').length % 2 === 1;
    const verb = (
      isObject
        ? ['PUT', 'PUT', 'PUT', 'PATCH', 'PATCH', 'PATCH', 'PATCH', 'GET', 'HEAD', 'DELETE']
        : ['GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'POST', 'POST', 'POST', 'GET']
    )[pick]!;
    const text = JSON.stringify(verb === 'PATCH' && format === 'json-patch+' ? operations : content);
    const type = verb === 'PATCH' ? `application/${format}json` : 'application/json';
    const hasBody = verb.startsWith('P');
    return {
      user: by,
      method: verb,
      path: `/v1${path}${hasBody ? '' : search}`,
      headers: hasBody ? { 'Content-Type': type } : {},
      body: hasBody ? text : undefined,
    };
  });

/** One request; batches among them. */
export const fuzzRequest: fc.Arbitrary<FuzzRequest> = fc.oneof(
  { weight: 12, arbitrary: likely },
  {
    weight: 9,
    arbitrary: fc.record({
      user,
      method,
      path: fc.tuple(prefix, place, suffix, query).map((parts) => parts.join('') || '/'),
      headers: fc.oneof(
        { weight: 6, arbitrary: fc.constant({}) },
        { weight: 1, arbitrary: fc.array(header, { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs)) },
      ),
      body: fc.option(body, { nil: undefined, freq: 5 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      user: fc.constantFrom('alice', 'bob', undefined),
      method: fc.constant('POST'),
      path: fc.constant('/v1/batch'),
      headers: fc.constant({}),
      body: batch.map((content) => JSON.stringify(content)),
    }),
  },
);
