// Attributes that kinds declare by a JSON Schema, default permissions, and bodies with and without data.
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import type { AttributeDeclaration } from '../../src/engine/kind.ts';
import type { ResourceKind, SentAttributes } from '../../src/engine/kind.ts';
import { definePlugin, type Plugin } from '../../src/http/plugin.ts';
import { startTestService } from '../../src/testing/index.ts';
import { absent, ids, only } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const members = ['system.Authenticated'];
const shared = { flavour: 'shareable', idGenerator: 'NameGenerator', defaultPrincipals: { create: members } } as const;

const plant: ResourceKind = {
  ...shared,
  name: 'plant',
  path: '/plants',
  attributes: {
    schema: {
      required: ['name'],
      properties: {
        name: { type: 'string', minLength: 1 },
        height: { type: 'integer', minimum: 0, default: 0 },
        place: { type: 'object', default: {}, properties: { sunny: { type: 'boolean', default: true } } },
      },
    },
  },
};
const seed: ResourceKind = {
  ...shared,
  name: 'seed',
  path: '/seeds',
  attributes: { unknown: 'drop', schema: { properties: { name: { type: 'string' } } } },
};
const tool: ResourceKind = {
  ...shared,
  name: 'tool',
  path: '/tools',
  attributes: {
    unknown: 'refuse',
    coerce: true,
    schema: {
      properties: {
        age: { type: 'integer' },
        price: { type: ['number', 'null'] },
        works: { type: 'boolean' },
        label: { type: 'string' },
        sizes: { type: 'array', items: { type: 'integer' } },
      },
    },
  },
};
/** Knows whether a body has data. */
const log: ResourceKind = {
  ...shared,
  name: 'log',
  path: '/logs',
  checkAttributes: (attributes, complain, { hasData }: SentAttributes) => {
    if (!Object.hasOwn(attributes, 'text')) complain('text', 'expected a text');
    return { ...attributes, hasData };
  },
};
const shelf: ResourceKind = { ...shared, name: 'shelf', path: '/shelves' };
const book: ResourceKind = {
  name: 'book',
  path: '/shelves/{shelf_id}/books',
  parent: 'shelf',
  flavour: 'shareable',
  idGenerator: 'NameGenerator',
};

const pluginOf = (...kinds: readonly ResourceKind[]): Plugin =>
  definePlugin({ name: 'ours', setup: () => ({ kinds }) });

describeScenarios(
  'attributes by a schema',
  [
    {
      name: 'missing attributes get their defaults, in nested objects too',
      request: 'POST /plants {"data":{"name":"rose","place":{"wet":true}}}',
      status: 201,
      body: { data: { name: 'rose', height: 0, place: { wet: true, sunny: true } } },
    },
    {
      name: 'attributes that do not fit are refused by name',
      request: 'POST /plants {"data":{"name":"rose","height":-1}}',
      issues: [['body', 'data.height']],
      then: [
        { request: 'POST /plants {"data":{"name":""}}', issues: [['body', 'data.name']] },
        { request: 'POST /plants {"data":{"name":"x","place":{"sunny":"no"}}}', status: 400 },
        { request: 'POST /plants {"data":{"name":"x","__proto__":{"height":1},"constructor":1}}', status: 201 },
      ],
    },
    {
      name: 'a body without data differs from one with empty data',
      request: 'POST /plants',
      issues: [
        ['body', 'data'],
        ['body', 'data.name'],
      ],
      then: [
        { request: 'POST /plants {"data":{}}', issues: [['body', 'data.name']] },
        { request: 'PUT /plants/{b} {"permissions":{"read":["{bob}"]}}', status: 400 },
        { request: 'PUT /plants/{b} {"data":{"name":"rose"}}', status: 201 },
        {
          request: 'PUT /plants/{b} {"permissions":{"read":["{bob}"]}}',
          status: 200,
          body: { data: { name: 'rose' }, permissions: { read: ['{bob}'] } },
        },
        { request: 'PUT /plants/{b}', status: 200, body: { data: { name: 'rose' } } },
        { request: 'PUT /plants/{b} {"data":{}}', issues: [['body', 'data.name']] },
        { request: 'PATCH /plants/{b} {"permissions":{}}', status: 200, body: { data: { name: 'rose' } } },
      ],
    },
    {
      name: 'patches are checked and completed as a whole',
      given: ['PUT /plants/{b} {"data":{"name":"rose","height":3}}'],
      request: 'PATCH /plants/{b} {"data":{"height":"tall"}}',
      issues: [['body', 'height']],
      then: [
        { request: 'PATCH /plants/{b} {"data":{"height":4}}', body: { data: { name: 'rose', height: 4 } } },
        {
          request: 'PATCH /plants/{b} {"data":{"name":null}}',
          headers: { 'Content-Type': 'application/merge-patch+json' },
          issues: [['body', 'name']],
        },
        {
          request: 'PATCH /plants/{b} [{"op":"remove","path":"/data/height"}]',
          headers: { 'Content-Type': 'application/json-patch+json' },
          body: { data: { height: 0 } },
        },
      ],
    },
    {
      name: 'unknown attributes are dropped where the kind says so',
      request: 'PUT /seeds/{b} {"data":{"name":"x","size":1,"__proto__":2}}',
      status: 201,
      body: { data: { name: 'x', size: absent } },
      then: [
        { request: 'GET /seeds/{b}', text: /"name":"x"(?!.*(?:size|__proto__))/ },
        { request: 'PATCH /seeds/{b} {"data":{"size":2}}', body: { data: { size: absent } } },
      ],
    },
    {
      name: 'unknown attributes are refused where the kind says so',
      request: 'PUT /tools/{b} {"data":{"weight":1,"colour":2}}',
      issues: [
        ['body', 'data.colour'],
        ['body', 'data.weight'],
      ],
    },
    {
      name: 'values are converted where nothing is lost',
      request: 'PUT /tools/{b} {"data":{"age":"12","price":"1.50","works":"true","label":7,"sizes":["1",2,"3"]}}',
      status: 201,
      text: /"age":12,"price":1\.50,"works":true,"label":"7","sizes":\[1,2,3\]/,
      then: [
        {
          request: 'PUT /tools/{b} {"data":{"price":null,"label":true}}',
          body: { data: { price: null, label: 'true' } },
        },
        { request: 'PUT /tools/{b} {"data":{"age":"12345678901234567890"}}', text: /"age":12345678901234567890/ },
        { request: 'PUT /tools/{b} {"data":{"age":"1e999"}}', issues: [['body', 'data.age']] },
        { request: 'PUT /tools/{b} {"data":{"age":"0x1"}}', issues: [['body', 'data.age']] },
        { request: 'PUT /tools/{b} {"data":{"age":" 1"}}', issues: [['body', 'data.age']] },
        { request: 'PUT /tools/{b} {"data":{"age":""}}', issues: [['body', 'data.age']] },
        { request: 'PUT /tools/{b} {"data":{"age":1.5}}', issues: [['body', 'data.age']] },
        { request: 'PUT /tools/{b} {"data":{"works":"yes"}}', issues: [['body', 'data.works']] },
        { request: 'PUT /tools/{b} {"data":{"works":1}}', issues: [['body', 'data.works']] },
        { request: 'PUT /tools/{b} {"data":{"label":null}}', issues: [['body', 'data.label']] },
        { request: 'PUT /tools/{b} {"data":{"label":{}}}', issues: [['body', 'data.label']] },
      ],
    },
    {
      name: 'a check of code learns whether there is data',
      request: 'PUT /logs/{b} {"data":{"text":"x"}}',
      status: 201,
      body: { data: { hasData: true } },
      then: [
        { request: 'PUT /logs/{b} {"permissions":{"read":["{bob}"]}}', body: { data: { text: 'x', hasData: true } } },
        { request: 'PATCH /logs/{b} {"permissions":{}}', body: { data: { hasData: false } } },
        {
          request: 'PUT /logs/{b}2',
          issues: [['body', 'data.text']],
        },
      ],
    },
  ],
  { plugins: [pluginOf(plant, seed, tool, log)] },
);

describeScenarios(
  'permissions by default',
  [
    {
      name: 'objects store read, write and the creation of children, and inherit from the objects above',
      given: [
        'PUT /shelves/{b} {"permissions":{"read":["{bob}"],"book:create":["{carol}"]}}',
        'carol: PUT /shelves/{b}/books/x',
      ],
      request: 'bob: GET /shelves/{b}/books',
      body: { data: ids('x') },
      then: [
        { request: 'bob: PUT /shelves/{b}/books/x', status: 403 },
        { request: 'bob: PUT /shelves/{b}/books/y', status: 403 },
        { request: 'carol: GET /shelves/{b}', status: 403 },
        { request: 'DELETE /shelves/{b}/books/x', status: 200 },
        { request: 'PUT /shelves/{b} {"permissions":{"seed:create":["x"]}}', issues: [['body', 'permissions']] },
        { request: 'nobody: GET /shelves/{b}', status: 401 },
        { request: 'nobody: PUT /shelves/{b}x', status: 401 },
        {
          request: 'GET /shelves/{b}',
          body: { permissions: only({ write: ['{alice}'], read: ['{bob}'], 'book:create': ['{carol}'] }) },
        },
      ],
    },
  ],
  { plugins: [pluginOf(shelf, book, seed)] },
);

describe('principals that a kind names by default', () => {
  it.each([
    ['the setting of the operator, when there is one', 'basicauth:somebody', 403],
    ['an empty setting', '', 403],
  ])('give way to %s', async (_, shelf_create_principals, status) => {
    const service = await startTestService({ plugins: [pluginOf(shelf)], settings: { shelf_create_principals } });
    expect((await service.asUser('alice').request('PUT', '/v1/shelves/a')).status).toBe(status);
    await service.close();
  });

  it('stand in the list of own permissions', async () => {
    const settings = { experimental_permissions_endpoint: 'true' };
    const service = await startTestService({ plugins: [pluginOf(shelf)], settings });
    const { body } = await service.asUser('alice').request('GET', '/v1/permissions');
    expect(body).toEqual({
      data: [{ uri: '/', resource_name: 'root', permissions: ['bucket:create', 'shelf:create'] }],
    });
    await service.close();
  });
});

describe('a kind that cannot be served', () => {
  const start = async (...kinds: readonly ResourceKind[]): Promise<void> => {
    const service = await startTestService({ plugins: [pluginOf(...kinds)] });
    await service.close();
  };
  const withSchema = (attributes: AttributeDeclaration): ResourceKind => ({ ...plant, attributes });

  it.each([
    [
      'a schema that is none',
      { schema: { type: 'text' } },
      /The schema of the resource kind plant cannot be used: type/,
    ],
    ['a pattern that is none', { schema: { properties: { a: { pattern: '(' } } } }, /plant cannot be used/],
    [
      'a default that does not fit',
      { schema: { properties: { a: { type: 'string', default: 1 } } } },
      /The default of a of the resource kind plant/,
    ],
    ['unknown attributes without known ones', { unknown: 'drop', schema: {} }, /can drop only/],
    [
      'unknown attributes and patterns',
      { unknown: 'refuse', schema: { properties: {}, patternProperties: {} } },
      /can refuse only/,
    ],
  ] as const)('with %s keeps the service from starting', async (_, attributes, message) => {
    await expect(start(withSchema(attributes))).rejects.toThrow(message);
  });

  it('below a user resource keeps the service from starting', async () => {
    const note: ResourceKind = { name: 'note', path: '/notes', flavour: 'user' };
    const line: ResourceKind = { ...shared, name: 'line', path: '/notes/{note_id}/lines', parent: 'note' };
    await expect(start(note, line)).rejects.toThrow('line lies below note, a user resource');
  });
});

describe('the description of the API', () => {
  it('has the attributes that kinds declare, and is valid', async () => {
    const referring: ResourceKind = {
      ...shared,
      name: 'referring',
      path: '/referring',
      attributes: {
        schema: { properties: { a: { $ref: '#/definitions/b' } }, definitions: { b: { type: 'string' } } },
      },
    };
    const service = await startTestService({ plugins: [pluginOf(plant, tool, referring)] });
    const { body, text } = await service.request('GET', '/v1/openapi.json');
    await service.close();
    const { valid, errors } = await new Validator().validate(JSON.stringify(JSON.parse(text), null, 1));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    const { schemas } = (body as { components: { schemas: Record<string, unknown> } }).components;
    expect(schemas['PlantAttributes']).toMatchObject({
      required: ['name'],
      properties: { id: {}, height: { type: 'integer', default: 0 } },
    });
    expect(schemas['PlantPatch']).not.toHaveProperty(['properties', 'data', 'required']);
    expect(schemas['ToolAttributes']).toMatchObject({ additionalProperties: false });
    expect(schemas['ReferringAttributes']).not.toHaveProperty(['properties', 'a']);
  });
});
