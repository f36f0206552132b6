// The meta-schema of draft 7 of JSON Schema, which stored schemas have to satisfy.
import type { JsonObject } from '../../base/json.ts';

const schema: JsonObject = { $ref: '#' };
const schemaList: JsonObject = { type: 'array', minItems: 1, items: schema };
const schemaMap: JsonObject = { type: 'object', additionalProperties: schema };
const count: JsonObject = { type: 'integer', minimum: 0 };
const number: JsonObject = { type: 'number' };
const text: JsonObject = { type: 'string' };
const flag: JsonObject = { type: 'boolean' };
const names: JsonObject = { type: 'array', items: text, uniqueItems: true };
const typeName: JsonObject = { enum: ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'] };

export const draft07: JsonObject = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  $id: 'http://json-schema.org/draft-07/schema#',
  // Targets of references by name.
  definitions: {
    schemaArray: schemaList,
    nonNegativeInteger: count,
    nonNegativeIntegerDefault0: count,
    simpleTypes: typeName,
    stringArray: names,
  },
  type: ['object', 'boolean'],
  properties: {
    $id: text,
    $schema: text,
    $ref: text,
    $comment: text,
    title: text,
    description: text,
    readOnly: flag,
    examples: { type: 'array' },
    multipleOf: { type: 'number', exclusiveMinimum: 0 },
    maximum: number,
    exclusiveMaximum: number,
    minimum: number,
    exclusiveMinimum: number,
    maxLength: count,
    minLength: count,
    pattern: text,
    additionalItems: schema,
    items: { if: { type: 'array' }, then: schemaList, else: schema },
    maxItems: count,
    minItems: count,
    uniqueItems: flag,
    contains: schema,
    maxProperties: count,
    minProperties: count,
    required: names,
    additionalProperties: schema,
    definitions: schemaMap,
    properties: schemaMap,
    patternProperties: schemaMap,
    dependencies: {
      type: 'object',
      additionalProperties: { if: { type: 'array' }, then: names, else: schema },
    },
    propertyNames: schema,
    enum: { type: 'array' },
    type: {
      if: { type: 'array' },
      then: { type: 'array', items: typeName, minItems: 1, uniqueItems: true },
      else: typeName,
    },
    format: text,
    contentMediaType: text,
    contentEncoding: text,
    if: schema,
    then: schema,
    else: schema,
    allOf: schemaList,
    anyOf: schemaList,
    oneOf: schemaList,
    not: schema,
  },
};
