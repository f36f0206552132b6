// JSON Schema validation (docs/reference/http-api/schema.md).
import { absent, aText } from './match.ts';
import { describeScenarios, type Scenario } from './scenarios.ts';

const schema = '{"type":"object","properties":{"title":{"type":"string"},"n":{"type":"integer"}},"required":["title"]}';
const bySchema = ['bucket', { request: `PUT {C} {"data":{"schema":${schema}}}`, save: 'c' }] as const;
const merge = { 'Content-Type': 'application/merge-patch+json' };
const json = { 'Content-Type': 'application/json-patch+json' };
const on = { settings: { experimental_collection_schema_validation: 'true', includes: 'default_bucket' } };

const storage: readonly Scenario[] = [
  {
    name: 'A schema that is a text is refused.',
    given: ['bucket'],
    request: 'PUT {C} {"data":{"schema":"x"}}',
    issues: [['body', 'data.schema']],
  },
  {
    name: 'A schema that is a list is refused.',
    given: ['bucket'],
    request: 'POST {B}/collections {"data":{"schema":[]}}',
    issues: [['body', 'data.schema']],
  },
  {
    name: 'A schema that is null is refused.',
    given: ['bucket'],
    request: 'PUT {C} {"data":{"schema":null}}',
    issues: [['body', 'data.schema']],
  },
  {
    name: 'A schema with an unknown type is refused.',
    given: ['bucket'],
    request: 'PUT {C} {"data":{"schema":{"type":"strin"}}}',
    issues: [['body', 'data.schema']],
  },
  {
    name: 'A schema in the style of draft 4 is refused, whatever draft it names.',
    given: ['bucket'],
    request:
      'PUT {C} {"data":{"schema":{"$schema":"http://json-schema.org/draft-04/schema#","exclusiveMinimum":true}}}',
    issues: [['body', 'data.schema']],
  },
  {
    name: 'An empty schema is accepted.',
    given: ['bucket'],
    request: 'PUT {C} {"data":{"schema":{}}}',
    status: 201,
    body: { data: { schema: {} } },
  },
  {
    name: 'A schema with unresolved references can be stored.',
    given: ['bucket'],
    request: 'PUT {C} {"data":{"schema":{"$ref":"http://nowhere.example/schema"}}}',
    status: 201,
  },
  // Proves S-041.
  {
    name: 'Schemas of a bucket are checked.',
    request: 'PUT {B} {"data":{"record:schema":{"type":1}}}',
    issues: [['body', 'data.record:schema']],
  },
  {
    name: 'Schemas of a bucket are checked for collections and groups.',
    request: 'PUT {B} {"data":{"collection:schema":[],"group:schema":null}}',
    issues: [
      ['body', 'data.collection:schema'],
      ['body', 'data.group:schema'],
    ],
  },
  {
    name: 'A bucket schema for buckets is ordinary data.',
    request: 'PUT {B} {"data":{"bucket:schema":"x"}}',
    status: 201,
  },
  {
    name: 'A patched schema is checked, with a name relative to the attributes.',
    given: ['collection'],
    request: 'PATCH {C} {"data":{"schema":{"type":"strin"}}}',
    issues: [['body', 'schema']],
  },
  {
    name: 'A plain patch cannot remove a schema.',
    given: [...bySchema],
    request: 'PATCH {C} {"data":{"schema":null}}',
    issues: [['body', 'schema']],
  },
  {
    name: 'A merge patch can remove a schema.',
    given: [...bySchema],
    request: 'PATCH {C} {"data":{"schema":null}}',
    headers: merge,
    status: 200,
    body: { data: { schema: absent } },
  },
];

describeScenarios('storing schemas', storage, on);
describeScenarios('schemas without validation', [
  ...storage,
  // Proves S-033.
  {
    name: 'Without validation every record is accepted and none is marked.',
    given: [...bySchema],
    request: 'PUT {R}/x {"data":{"title":5}}',
    status: 201,
    body: { data: { title: 5, schema: absent } },
  },
  {
    name: 'Without validation there is no such capability.',
    request: 'GET /',
    body: { capabilities: { schema: absent } },
  },
]);

/** A property, or the whole record, that the schema of the collection refuses, and the name in the answer. */
const refused: readonly (readonly [string, string, string, string | number])[] = [
  ['a property of the wrong type', schema, '{"title":5}', 'title'],
  ['a missing property', schema, '{"n":1}', 'title'],
  ['the missing one of several properties', '{"required":["a","b","c"]}', '{"a":1,"c":1}', 'b'],
  ['an item of a list', '{"properties":{"l":{"items":{"type":"string"}}}}', '{"l":["a",1]}', 1],
  ['a nested property', '{"properties":{"o":{"properties":{"p":{"type":"string"}}}}}', '{"o":{"p":1}}', 'p'],
  [
    'an additional property',
    '{"properties":{"a":{}},"additionalProperties":false}',
    '{"a":1,"b":2}',
    'additionalProperties',
  ],
  ['too few properties', '{"minProperties":2}', '{"a":1}', 'minProperties'],
  ['none of the alternatives', '{"anyOf":[{"required":["a"]},{"required":["b"]}]}', '{"c":1}', 'anyOf'],
  ['an unresolvable reference', '{"properties":{"a":{"$ref":"#/definitions/none"}}}', '{"a":1}', 'schema'],
  ['a remote reference', '{"properties":{"a":{"$ref":"http://127.0.0.1:9/schema"}}}', '{"a":1}', 'schema'],
  ['a value beyond an exclusive limit', '{"properties":{"n":{"exclusiveMaximum":5}}}', '{"n":5}', 'n'],
  ['a text that does not match its pattern', '{"properties":{"s":{"pattern":"^a+$"}}}', '{"s":"b"}', 's'],
  ['a value that is not the constant', '{"properties":{"s":{"const":{"a":1}}}}', '{"s":{"a":2}}', 's'],
];

const accepted: readonly (readonly [string, string, string])[] = [
  ['a good record', schema, '{"title":"x","n":1}'],
  ['a whole float as an integer', schema, '{"title":"x","n":1.0}'],
  ['a large integer', schema, '{"title":"x","n":12345678901234567890}'],
  ['a bad format, which is not enforced', '{"properties":{"s":{"format":"email"}}}', '{"s":"x"}'],
  [
    'a local reference',
    '{"definitions":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/s"}}}',
    '{"a":"x"}',
  ],
  ['a required id that the server makes', '{"required":["id"],"properties":{"id":{"type":"string"}}}', '{}'],
  [
    'a record although additional properties are forbidden, which the server fields are not',
    '{"properties":{"a":{}},"additionalProperties":false}',
    '{"a":1}',
  ],
  ['a record although the server fields are required', '{"required":["id","last_modified","schema","a"]}', '{"a":1}'],
  [
    'a draft of 2020',
    '{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"l":{"prefixItems":[{"type":"string"}]}}}',
    '{"l":["a",1]}',
  ],
];

describeScenarios(
  'validating records',
  [
    // Proves S-032, S-219.
    ...refused.map(([title, of, data, name]) => ({
      name: `A record is refused for ${title}.`,
      given: ['bucket', `PUT {C} {"data":{"schema":${of}}}`],
      request: `POST {R} {"data":${data}}`,
      status: 400,
      body: { errno: 107, error: 'Invalid parameters', details: [{ location: 'body', name, description: aText }] },
      then: [{ request: 'HEAD {R}', gives: { 'total-objects': '0' } }],
    })),
    // Proves S-032.
    ...accepted.map(([title, of, data]) => ({
      name: `A schema accepts ${title}.`,
      given: ['bucket', { request: `PUT {C} {"data":{"schema":${of}}}`, save: 'c' }],
      request: `POST {R} {"data":${data}}`,
      status: 201,
      body: { data: { schema: '{c.time}' } },
    })),
    {
      name: 'A sent mark is ignored.',
      given: [...bySchema],
      request: 'PUT {R}/x {"data":{"title":"x","schema":5}}',
      body: { data: { schema: '{c.time}' } },
    },
    {
      name: 'PUT and PATCH validate.',
      given: [...bySchema, 'PUT {R}/x {"data":{"title":"x"}}'],
      request: 'PUT {R}/x {"data":{"title":5}}',
      issues: [['body', 'title']],
      then: [
        { request: 'PATCH {R}/x {"data":{"title":5}}', issues: [['body', 'title']] },
        { request: 'PATCH {R}/x [{"op":"remove","path":"/data/title"}]', headers: json, issues: [['body', 'title']] },
        { request: 'PATCH {R}/x {"data":{"title":null}}', headers: merge, issues: [['body', 'title']] },
      ],
    },
    {
      name: 'Old records are not validated again until they change.',
      given: ['collection', 'PUT {R}/x {"data":{"title":5}}', `PATCH {C} {"data":{"schema":${schema}}}`],
      request: 'GET {R}/x',
      status: 200,
      body: { data: { title: 5 } },
      then: [
        { request: 'PATCH {R}/x {"permissions":{"read":["a"]}}', issues: [['body', 'title']] },
        { request: 'DELETE {R}/x', status: 200 },
      ],
    },
    {
      name: 'A record is marked with the schema it was validated by.',
      given: [
        ...bySchema,
        'PUT {R}/x {"data":{"title":"x"}}',
        { request: `PATCH {C} {"data":{"color":1}}`, save: 'd' },
      ],
      request: 'GET {R}/x',
      body: { data: { schema: '{c.time}' } },
      then: [{ request: 'PATCH {R}/x {"permissions":{"read":["a"]}}', body: { data: { schema: '{d.time}' } } }],
    },
    {
      name: 'A posted id that exists is not validated.',
      given: ['collection', 'PUT {R}/x', `PATCH {C} {"data":{"schema":${schema}}}`],
      request: 'POST {R} {"data":{"id":"x","title":5}}',
      status: 200,
    },
    {
      name: 'A removed schema validates no more.',
      given: [...bySchema, 'PUT {C} {"data":{}}'],
      request: 'PUT {R}/x {"data":{"title":5}}',
      status: 201,
      body: { data: { schema: absent } },
    },
    {
      name: 'The precondition comes before the schema.',
      given: [...bySchema, 'PUT {R}/x {"data":{"title":"x"}}'],
      request: 'PUT {R}/x {"data":{"title":5}}',
      headers: { 'If-None-Match': '*' },
      status: 412,
    },
    {
      name: 'A schema of the bucket validates records of all collections and marks none.',
      given: [`PUT {B} {"data":{"record:schema":${schema}}}`, 'PUT {C}'],
      request: 'PUT {R}/x {"data":{"title":5}}',
      issues: [['body', 'title']],
      then: [{ request: 'PUT {R}/x {"data":{"title":"x"}}', body: { data: { schema: absent } } }],
    },
    {
      name: 'The schema of the collection comes first, both must pass.',
      given: [
        'PUT {B} {"data":{"record:schema":{"required":["b"]}}}',
        'PUT {C} {"data":{"schema":{"required":["c"]}}}',
      ],
      request: 'PUT {R}/x {"data":{}}',
      issues: [['body', 'c']],
      then: [
        { request: 'PUT {R}/x {"data":{"c":1}}', issues: [['body', 'b']] },
        { request: 'PUT {R}/x {"data":{"b":1,"c":1}}', status: 201 },
      ],
    },
    {
      name: 'Collections are validated by their bucket.',
      given: ['PUT {B} {"data":{"collection:schema":{"required":["owner"]}}}'],
      request: 'PUT {C} {"data":{}}',
      issues: [['body', 'owner']],
      then: [{ request: 'PUT {C} {"data":{"owner":"x"}}', status: 201 }],
    },
    {
      name: 'Groups are validated by their bucket.',
      given: ['PUT {B} {"data":{"group:schema":{"properties":{"members":{"maxItems":1}}}}}'],
      request: 'PUT {G}/g {"data":{"members":["a","b"]}}',
      issues: [['body', 'members']],
      then: [{ request: 'PUT {G}/g {"data":{"members":["a"]}}', status: 201 }],
    },
    {
      name: 'The schema of a collection is not hidden from the schema of its bucket.',
      given: ['PUT {B} {"data":{"collection:schema":{"required":["schema"]}}}'],
      request: 'PUT {C}',
      issues: [['body', 'schema']],
    },
    {
      name: 'A batch validates each entry.',
      given: [...bySchema],
      request:
        'POST /batch {"requests":[{"method":"PUT","path":"{R}/x","body":{"data":{"title":5}}},{"method":"PUT","path":"{R}/y","body":{"data":{"title":"y"}}}]}',
      body: { responses: [{ status: 400, body: { errno: 107 } }, { status: 201 }] },
    },
    {
      name: 'Validation works in the personal bucket.',
      given: [`PUT /buckets/default/collections/c {"data":{"schema":${schema}}}`],
      request: 'POST /buckets/default/collections/c/records {"data":{"title":5}}',
      issues: [['body', 'title']],
    },
    {
      name: 'An implicitly created collection is not validated.',
      given: ['PUT /buckets/default {"data":{"collection:schema":{"required":["owner"]}}}'],
      request: 'POST /buckets/default/collections/c/records',
      status: 201,
    },
    {
      name: 'A catastrophic pattern is matched at once.',
      given: ['bucket', 'PUT {C} {"data":{"schema":{"properties":{"s":{"pattern":"^(a+)+$"}}}}}'],
      request: `PUT {R}/x {"data":{"s":"${'a'.repeat(50)}b"}}`,
      issues: [['body', 's']],
    },
  ],
  on,
);
