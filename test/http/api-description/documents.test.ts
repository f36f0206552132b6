// Both documents of a service with every plugin: valid, complete, and of one mind.
import SwaggerParser from '@apidevtools/swagger-parser';
import { Validator } from '@seriousme/openapi-schema-validator';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../../../src/testing/index.ts';
import type { ResourceKind } from '../../../src/engine/kind.ts';
import { definePlugin } from '../../../src/http/plugin.ts';
import { samplePlugin } from '../sample-plugin.ts';

interface Described {
  readonly operationId: string;
  readonly summary?: string;
  readonly tags: readonly string[];
  readonly responses: Readonly<Record<string, unknown>>;
}

interface Document {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
}

const paths = { swagger: '/v1/__api__', openapi: '/v1/openapi.json' } as const;

/** Tags of the Swagger document that are other ones in the OpenAPI document. */
const plainTags = new Map([
  ['Permissionss', 'Permissions'],
  ['User-datas', 'User data'],
]);

/** A kind whose attributes use what Swagger 2.0 lacks. */
const shape: ResourceKind = {
  name: 'shape',
  path: '/shapes',
  flavour: 'user',
  describesAttributes: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      kind: { const: 'circle' },
      label: { type: ['string', 'null'] },
      size: { type: 'integer', exclusiveMinimum: 0 },
      tags: { type: 'array', prefixItems: [{ type: 'string' }] },
      owner: { oneOf: [{ type: 'string' }, { type: 'object' }] },
      extra: true,
    },
    patternProperties: { '^x-': { type: 'string' } },
    required: ['size', 'unnamed'],
  },
};

/** A kind whose schema means nothing outside of its own document. */
const referring: ResourceKind = {
  name: 'referring',
  path: '/referring',
  flavour: 'user',
  describesAttributes: { properties: { a: { $ref: '#/$defs/b' } }, $defs: { b: { type: 'string' } } },
};

const kinds = definePlugin({ name: 'shapes', setup: () => ({ kinds: [shape, referring] }) });

function operationsOf({ paths: described }: Document): ReadonlyMap<string, Described> {
  const operations = Object.values(described).flatMap((item) =>
    Object.entries(item).flatMap(([method, operation]) => (method === 'parameters' ? [] : [operation])),
  );
  return new Map(operations.map((operation) => [operation.operationId, operation]));
}

describe('the documents of a service with every plugin', () => {
  let folder = '';
  let service: TestService;
  const texts = { swagger: '', openapi: '' };
  const read = (format: keyof typeof paths): Document => JSON.parse(texts[format]) as Document;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'documents-'));
    const settings = {
      includes:
        'default_bucket history admin flush attachments accounts openid prometheus counters changes quotas emailer operations',
      'multiauth.policies': 'account basicauth',
      account_validation: 'true',
      'attachment.base_path': folder,
    };
    service = await startTestService({ settings, plugins: [samplePlugin, kinds] });
    for (const format of ['swagger', 'openapi'] as const) {
      texts[format] = (await service.request('GET', paths[format])).text;
    }
  });
  afterAll(async () => {
    await service.close();
    await rm(folder, { recursive: true });
  });

  it('pass the validators of their formats, with every reference resolved', async () => {
    await SwaggerParser.validate(JSON.parse(texts.swagger));
    const resolved = await SwaggerParser.dereference(JSON.parse(texts.openapi));
    expect(JSON.stringify(resolved)).not.toContain('"$ref"');
    for (const text of Object.values(texts)) {
      // The validator takes a text of one line for the name of a file.
      const { errors } = await new Validator().validate(JSON.stringify(JSON.parse(text), null, 1));
      expect(errors).toBeUndefined();
    }
  });

  it('have the same operations under the same tags, but for HEAD', () => {
    const [swagger, openapi] = [operationsOf(read('swagger')), operationsOf(read('openapi'))];
    const withoutHead = [...openapi.keys()].filter((id) => !id.startsWith('head_'));
    expect([...swagger.keys()].toSorted()).toEqual(withoutHead.toSorted());
    for (const [id, { tags, responses }] of swagger) {
      expect([id, tags?.map((tag) => plainTags.get(tag) ?? tag)]).toEqual([id, openapi.get(id)?.tags]);
      expect([id, Object.keys(responses)]).toEqual([id, Object.keys(openapi.get(id)?.responses ?? {})]);
    }
    const inPlainWords = read('swagger').tags.map(({ name }) => ({ name: plainTags.get(name) ?? name }));
    expect(inPlainWords).toEqual(read('openapi').tags);
  });

  it('describe what every operation does', () => {
    const silent = [...operationsOf(read('openapi')).values()].filter(({ summary }) => summary === undefined);
    // The endpoint of the sample plugin declares nothing.
    expect(silent.map(({ operationId }) => operationId)).toEqual(['hello']);
  });

  it('name their tags in the way of the reference server', () => {
    expect(read('swagger').tags.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'Utilities',
        'Buckets',
        'Collections',
        'Groups',
        'Records',
        'Batch',
        'History',
        'Flush',
        'User-datas',
        'Accounts',
        'Articles',
      ]),
    );
  });

  it('name their tags in plain English in the OpenAPI document', () => {
    const names = read('openapi').tags.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['Buckets', 'Permissions', 'User data']));
    expect(names).not.toContain('Permissionss');
    const used = [...operationsOf(read('openapi')).values()].flatMap(({ tags }) => tags);
    expect(new Set(used)).toEqual(new Set(names));
  });

  it('have the attributes that kinds declare, as far as the format can say', () => {
    const attributes = (format: 'swagger' | 'openapi', name: string): unknown => {
      const { definitions, components } = JSON.parse(texts[format]) as {
        readonly definitions?: Record<string, unknown>;
        readonly components?: { readonly schemas: Record<string, unknown> };
      };
      return (definitions ?? components?.schemas)?.[`${name}Attributes`];
    };
    expect(attributes('openapi', 'Shape')).toMatchObject({
      properties: { kind: { const: 'circle' }, label: { type: ['string', 'null'] }, size: { exclusiveMinimum: 0 } },
      patternProperties: {},
      required: ['size', 'unnamed'],
    });
    expect(attributes('swagger', 'Shape')).toMatchObject({
      properties: {
        kind: { enum: ['circle'] },
        label: { type: 'string', 'x-nullable': true },
        tags: { type: 'array', items: {} },
        owner: {},
        extra: {},
        unnamed: {},
      },
      required: ['size', 'unnamed'],
    });
    expect(attributes('swagger', 'Shape')).not.toHaveProperty('patternProperties');
    expect(attributes('openapi', 'Referring')).not.toHaveProperty(['properties', 'a']);
  });

  it('leave out pages for browsers', () => {
    for (const format of ['swagger', 'openapi'] as const) {
      expect(Object.keys(read(format).paths).filter((address) => /^\/(?:admin|docs)\b/.test(address))).toEqual([]);
    }
  });

  it('differ between hosts only in the address of the service', async () => {
    for (const format of ['swagger', 'openapi'] as const) {
      const { text } = await service.request('GET', paths[format], { headers: { Host: 'localhost:1' } });
      const here = new URL(service.origin).host;
      expect(text).not.toBe(texts[format]);
      expect(text.replaceAll('localhost:1', here)).toBe(texts[format]);
    }
  });
});
