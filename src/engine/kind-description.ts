// API descriptions of the endpoints of a kind: schemas of its objects, and of the bodies and responses of each method.
// Everything is derived from the declaration of the kind.
import { getKey, isJsonObject, type JsonObject, type JsonValue } from '../base/json.ts';
import { dialectOf } from '../core/schema/keyword.ts';
import type { CompiledKind } from './compiled-kind.ts';
import { namedSchema, objectWith, type DescribedResponse, type OperationDescription } from './description.ts';
import {
  aboutFilters,
  deletionHeaders,
  fieldsParameter,
  explainParameter,
  listDeletionParameters,
  listParameters,
  liveParameters,
  pageHeaders,
  preconditionHeaders,
  responseBehavior,
  timestampHeaders,
  totalHeaders,
} from './list-parameters.ts';

export interface KindDescriptions {
  readonly list: Readonly<Record<'GET' | 'HEAD' | 'POST' | 'DELETE', OperationDescription>>;
  readonly object: Readonly<Record<'GET' | 'HEAD' | 'PUT' | 'PATCH' | 'DELETE', OperationDescription>>;
}

const id: JsonObject = { type: 'string', description: 'Unique in the list.' };

const lastModified: JsonObject = {
  type: 'integer',
  minimum: 1,
  description: 'Milliseconds since 1970 UTC, unique in the list and always rising.',
};

const principals: JsonObject = { type: 'array', items: { type: 'string' } };

/** Schemas that all kinds share, by name. */
const commonSchemas: Readonly<Record<string, JsonObject>> = {
  Tombstone: {
    type: 'object',
    description: 'The mark of a deleted object.',
    properties: { id, last_modified: lastModified, deleted: { type: 'boolean', enum: [true] } },
    required: ['id', 'last_modified', 'deleted'],
  },
  Tombstones: objectWith({ data: { type: 'array', items: namedSchema('Tombstone') } }),
  DeletedObject: objectWith({ data: namedSchema('Tombstone') }),
  JsonPatch: {
    type: 'array',
    description: 'Operations of JSON Patch (RFC 6902) on a document with the members `data` and `permissions`.',
    items: {
      type: 'object',
      properties: {
        op: { type: 'string', enum: ['add', 'remove', 'replace', 'move', 'copy', 'test'] },
        path: { type: 'string' },
        from: { type: 'string' },
        value: {},
      },
      required: ['op', 'path'],
    },
  },
};

/** Schema names that are not available to kinds. */
const takenNames: ReadonlySet<string> = new Set([...Object.keys(commonSchemas), 'Error']);

/** Describes every method of both endpoints of a kind. */
export function describeKind(kind: CompiledKind): KindDescriptions {
  const { name, plural } = kind;
  const schemaName = schemaNameOf(name);
  const schemas = { ...commonSchemas, ...kindSchemas(kind, schemaName) };
  const json = (suffix: string): Record<string, JsonObject> => ({
    'application/json': namedSchema(`${schemaName}${suffix}`),
  });
  const found: DescribedResponse = {
    description: `The ${name}.`,
    schema: namedSchema(`${schemaName}Response`),
    headers: timestampHeaders,
  };
  const created: DescribedResponse = { ...found, description: `The ${name}, which the request created.` };
  const unchanged: DescribedResponse = { description: 'Nothing has changed.', headers: timestampHeaders };
  const onList = [...preconditionHeaders, ...listParameters];
  const patch = namedSchema(`${schemaName}Patch`);
  return {
    list: {
      GET: {
        summary: `Returns a page of the ${plural} that the caller may read.`,
        details: aboutFilters,
        parameters: [...onList, ...liveParameters],
        responses: {
          200: {
            description: `The ${plural}. The header \`Next-Page\` leads to the next page.`,
            schema: namedSchema(`${schemaName}List`),
            mediaTypes: ['text/event-stream'],
            headers: [...timestampHeaders, ...pageHeaders],
          },
          304: unchanged,
        },
        errors: [404, 410, 412],
        schemas,
      },
      HEAD: {
        summary: `Counts the ${plural} that the caller may read.`,
        details: aboutFilters,
        parameters: [...onList, explainParameter],
        responses: {
          200: { description: 'The totals, in headers.', headers: [...timestampHeaders, ...totalHeaders] },
          304: unchanged,
        },
        errors: [404, 410, 412],
      },
      POST: {
        summary: `Creates a ${name}, or returns the one that has the id already.`,
        parameters: preconditionHeaders,
        body: json('Request'),
        responses: { 200: { ...found, description: `The ${name} that has the id already.` }, 201: created },
        errors: [404, 409, 412],
        schemas,
      },
      DELETE: {
        summary: `Deletes the selected ${plural} that the caller may write.`,
        details: aboutFilters,
        parameters: [...preconditionHeaders, ...listDeletionParameters],
        responses: {
          200: {
            description: `A tombstone for each deleted ${name}.`,
            schema: namedSchema('Tombstones'),
            headers: [...timestampHeaders, ...deletionHeaders],
          },
        },
        errors: [404, 409, 412],
        schemas,
      },
    },
    object: {
      GET: {
        summary: `Returns the ${name}.`,
        parameters: [...preconditionHeaders, fieldsParameter],
        responses: { 200: found, 304: unchanged },
        errors: [404, 412],
        schemas,
      },
      HEAD: {
        summary: `Returns the timestamp of the ${name}.`,
        parameters: preconditionHeaders,
        responses: { 200: { description: `The ${name} exists.`, headers: timestampHeaders }, 304: unchanged },
        errors: [404, 412],
      },
      PUT: {
        summary: `Creates or replaces the ${name}.`,
        parameters: preconditionHeaders,
        body: json('Request'),
        responses: { 200: found, 201: created },
        errors: [404, 409, 412],
        schemas,
      },
      PATCH: {
        summary: `Changes some attributes or permissions of the ${name}.`,
        details:
          'Plain JSON replaces the attributes that it names. A merge patch (RFC 7396) merges objects at every depth, and null removes. A JSON Patch (RFC 6902) is an array of operations.',
        parameters: [...preconditionHeaders, responseBehavior],
        body: {
          'application/json': patch,
          'application/merge-patch+json': patch,
          'application/json-patch+json': namedSchema('JsonPatch'),
        },
        responses: { 200: { ...found, schema: namedSchema(`${schemaName}PatchResponse`) } },
        errors: [404, 409, 412],
        schemas,
      },
      DELETE: {
        summary: `Deletes the ${name}.`,
        parameters: [
          ...preconditionHeaders,
          {
            name: 'last_modified',
            in: 'query',
            description: 'Timestamp of the tombstone, where it is newer than the object.',
            schema: { type: ['integer', 'string'], minimum: 0, pattern: '^("[0-9]+"|[0-9]+)$' },
          },
        ],
        responses: {
          200: {
            description: `The tombstone of the ${name}.`,
            schema: namedSchema('DeletedObject'),
            headers: timestampHeaders,
          },
        },
        errors: [404, 409, 412],
        schemas,
      },
    },
  };
}

function schemaNameOf(kind: string): string {
  const name = kind
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('');
  return takenNames.has(name) ? `${name}Object` : name;
}

function kindSchemas(kind: CompiledKind, name: string): Record<string, JsonObject> {
  const { isShareable, permissions } = kind;
  const declared = declaredAttributes(kind);
  const properties = getKey(declared, 'properties');
  const attributes = isJsonObject(properties) ? properties : {};
  const shown: JsonObject = { id, last_modified: lastModified, ...attributes };
  const stored = namedSchema(name);
  const permissionsOf = (value: JsonObject): JsonObject => ({
    type: 'object',
    description: 'Principals by permission.',
    properties: Object.fromEntries(permissions.map((permission) => [permission, value])),
    additionalProperties: false,
  });
  const withPermissions = (entries: JsonObject): JsonObject => (isShareable ? { permissions: entries } : {});
  const envelope = (data: JsonObject, entries: JsonObject): JsonObject => ({
    type: 'object',
    properties: { data, ...withPermissions(entries) },
  });
  const granted = namedSchema(`${name}Permissions`);
  return {
    // Attributes that writes require may be absent in responses: older objects lack them, and `_fields` leaves them out.
    [name]: { type: 'object', properties: shown, required: ['id', 'last_modified'], additionalProperties: true },
    ...(isShareable ? { [`${name}Permissions`]: permissionsOf(principals) } : {}),
    [`${name}Attributes`]: {
      additionalProperties: true,
      ...declared,
      ...(kind.declaration.attributes?.unknown === 'refuse' ? { additionalProperties: false } : {}),
      type: 'object',
      properties: shown,
    },
    [`${name}Request`]: {
      ...envelope(namedSchema(`${name}Attributes`), granted),
      additionalProperties: false,
    },
    [`${name}Patch`]: {
      // Null removes an attribute, so the types of attributes do not apply.
      ...envelope(
        { type: 'object', additionalProperties: true },
        permissionsOf({ ...principals, type: ['array', 'null'] }),
      ),
      additionalProperties: false,
    },
    [`${name}Response`]: { ...envelope(stored, granted), required: ['data'] },
    [`${name}PatchResponse`]: {
      ...envelope({ type: 'object', properties: shown, additionalProperties: true }, granted),
      required: ['data'],
    },
    [`${name}List`]: objectWith({ data: { type: 'array', items: { allOf: [stored, tombstoneMark] } } }),
  };
}

const tombstoneMark = {
  type: 'object',
  properties: { deleted: { type: 'boolean', description: 'True for a tombstone.' } },
};

/** Keywords with another meaning or place in a description. */
const ownKeywords: ReadonlySet<string> = new Set(['$schema', '$comment', 'definitions', '$defs']);

/** Keywords that make a schema depend on its location. */
const references: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef', '$id', '$anchor']);

/** Returns the schema; an empty one for a kind without a schema, or whose schema cannot be embedded. */
function declaredAttributes({ attributes, declaration }: CompiledKind): JsonObject {
  const schema = attributes?.schema ?? declaration.describesAttributes ?? {};
  const isOld = dialectOf(schema) <= 4;
  if (isOld || holdsReference(schema)) return {};
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !ownKeywords.has(keyword)));
}

function holdsReference(value: JsonValue): boolean {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).some(holdsReference);
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([key, member]) => references.has(key) || holdsReference(member));
}
