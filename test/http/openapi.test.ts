// The description of the service for tools: valid, complete, and true.
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { samplePlugin } from './sample-plugin.ts';

interface Described {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, unknown>>;
}

interface Description {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly responses: Readonly<Record<string, unknown>> };
}

/** The validator takes a text of one line for the name of a file. */
function onLines(text: string): string {
  return JSON.stringify(JSON.parse(text), null, 1);
}

describe('The OpenAPI 3.1 description', () => {
  let service: TestService;
  let description: Description;
  let text = '';

  beforeAll(async () => {
    const settings = { includes: 'default_bucket history', experimental_permissions_endpoint: 'true' };
    service = await startTestService({ settings, plugins: [samplePlugin] });
    const { body, text: asText } = await service.request('GET', '/v1/openapi.json');
    description = body as Description;
    text = asText;
  });
  afterAll(() => service.close());

  it('is valid.', async () => {
    const { valid, errors } = await new Validator().validate(onLines(text));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });

  it('is valid in the older format too.', async () => {
    const older = await service.request('GET', '/v1/__api__');
    const { errors } = await new Validator().validate(onLines(older.text));
    expect(errors).toBeUndefined();
  });

  it('contains the URL of the service.', () => {
    expect(description).toMatchObject({ openapi: '3.1.0', servers: [{ url: `${service.origin}/v1` }] });
  });

  it('has every method of every address, and no other.', async () => {
    const alice = service.asUser('alice');
    for (const [path, item] of Object.entries(description.paths)) {
      const address = `/v1${path.replaceAll(/\{\w+\}/g, 'x')}`;
      const { headers } = await alice.request('TRACE', address);
      const described = Object.keys(item).filter((key) => key !== 'parameters');
      const allowed = (headers['allow'] ?? '').toLowerCase().split(', ');
      expect([path, ...described].toSorted()).toEqual(
        [path, ...allowed.filter((name) => name !== 'options')].toSorted(),
      );
    }
  });

  it('declares a 503 for every operation except the one that is always served.', () => {
    for (const [path, item] of Object.entries(description.paths)) {
      for (const [method, { responses }] of Object.entries(item)) {
        if (method === 'parameters') continue;
        const told = ['429', '503'].filter((status) => Object.hasOwn(responses, status));
        expect([path, method, ...told]).toEqual([path, method, ...(path === '/__lbheartbeat__' ? [] : ['429', '503'])]);
      }
    }
    for (const name of ['TooMany', 'Unavailable']) {
      expect(description.components.responses[name]).toHaveProperty(['headers', 'Retry-After']);
    }
  });

  it('names every operation once.', () => {
    const ids = Object.values(description.paths).flatMap((item) =>
      Object.entries(item).flatMap(([method, { operationId }]) => (method === 'parameters' ? [] : [operationId])),
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toContain('create_article');
  });
});
