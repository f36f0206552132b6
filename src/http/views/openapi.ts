// `/openapi.json`: the description of the service in OpenAPI 3.1, with parameters, bodies and answers, generated from the
// endpoint records that routing uses. `/__api__` beside it keeps the older format that existing clients read.
import type { JsonObject, JsonValue, MutableJsonObject } from '../../base/json.ts';
import type { AuthenticationPolicy } from '../../contracts/authentication.ts';
import type { CompiledKind } from '../../engine/compiled-kind.ts';
import { forReading, type Endpoint, type Operation } from '../../engine/endpoint.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';
import { attributeSchema, type AttributeUse } from './attribute-schemas.ts';
import { components, listParameters, preconditionHeaders } from './openapi-components.ts';

export interface OpenApiOptions {
  readonly projectName: string;
  readonly projectDocs: string;
  readonly httpApiVersion: string;
  readonly versionPrefix: string;
  readonly policies: readonly AuthenticationPolicy[];
  readonly kinds: ReadonlyMap<string, CompiledKind>;
  /** All endpoints of the service, this one included; asked for when the first description is made. */
  readonly endpoints: () => readonly Endpoint[];
}

export function openApiEndpoint(options: OpenApiOptions): Endpoint {
  let paths: JsonObject | undefined;
  const handle = ({ request }: { request: { origin: string } }): Promise<ServiceResponse> => {
    paths ??= describePaths(options);
    return Promise.resolve(jsonResponse(200, describe(options, paths, request.origin)));
  };
  return {
    name: 'openapi-3',
    path: '/openapi.json',
    isResource: false,
    ignoresCaller: true,
    operations: forReading('get_openapi', handle),
  };
}

function describe(options: OpenApiOptions, paths: JsonObject, origin: string): JsonObject {
  const { policies } = options;
  return {
    openapi: '3.1.0',
    info: { title: options.projectName, version: options.httpApiVersion, summary: 'A store for JSON objects.' },
    externalDocs: { url: options.projectDocs },
    servers: [{ url: `${origin}${options.versionPrefix}` }],
    // Anonymous callers may do what `system.Everyone` may, so no endpoint demands credentials as such.
    security: [{}, ...policies.map(({ name }) => ({ [name]: [] }))],
    tags: [...new Set(options.endpoints().filter(isDescribed).map(tagOf))].map((name) => ({ name })),
    paths,
    components: {
      ...components,
      securitySchemes: Object.fromEntries(policies.map((policy) => [policy.name, describePolicy(policy)])),
    },
  };
}

function describePolicy({ name, challenge }: AuthenticationPolicy): JsonObject {
  const scheme = challenge.split(' ')[0]!.toLowerCase();
  return { type: 'http', scheme, description: `User ids start with ${name}:` };
}

/** Files are no part of the programming interface, and a path with slashes in it cannot be described. */
function isDescribed({ path }: Endpoint): boolean {
  return !path.endsWith('{*}');
}

function describePaths({ endpoints, kinds }: OpenApiOptions): JsonObject {
  const byEndpointName = new Map<string, { readonly kind: CompiledKind; readonly isList: boolean }>();
  for (const kind of kinds.values()) {
    byEndpointName.set(`${kind.name}-plural`, { kind, isList: true });
    byEndpointName.set(`${kind.name}-object`, { kind, isList: false });
  }
  const paths: MutableJsonObject = {};
  for (const endpoint of endpoints().filter(isDescribed)) {
    const resource = byEndpointName.get(endpoint.name);
    const item: MutableJsonObject = { parameters: pathParameters(endpoint.path) };
    for (const [method, operation] of Object.entries(endpoint.operations)) {
      const own =
        resource === undefined
          ? describePlain(endpoint, operation)
          : resource.isList
            ? describeOnList(resource.kind, method, operation)
            : describeOnObject(resource.kind, method, operation);
      item[method.toLowerCase()] = { operationId: operation.id, tags: [tagOf(endpoint)], ...own };
    }
    paths[endpoint.path] = item;
  }
  return paths;
}

function pathParameters(path: string): JsonValue {
  return Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function tagOf({ name, tag, isResource }: Endpoint): string {
  return tag ?? (isResource ? `${name.split('-')[0]}s` : 'utilities');
}

function ref(section: string, name: string): JsonObject {
  return { $ref: `#/components/${section}/${name}` };
}

function describePlain({ isVital }: Endpoint, { consumes }: Operation): JsonObject {
  const content = Object.fromEntries((consumes ?? []).map((type) => [type, { schema: { type: 'object' } }]));
  return {
    ...(consumes === undefined ? {} : { requestBody: { content } }),
    responses: {
      200: { description: 'The answer.' },
      ...(isVital === true ? {} : turnedAway),
      default: ref('responses', 'Error'),
    },
  };
}

/** Whatever is asked for may be refused because of how much is asked for. */
const turnedAway: JsonObject = {
  429: ref('responses', 'TooMany'),
  503: ref('responses', 'Unavailable'),
};

const refused: JsonObject = {
  400: ref('responses', 'Error'),
  401: ref('responses', 'Error'),
  403: ref('responses', 'Error'),
  ...turnedAway,
};

function describeOnList(kind: CompiledKind, method: string, operation: Operation): JsonObject {
  const isRead = method === 'GET' || method === 'HEAD';
  const summaries: Record<string, string> = {
    GET: `Lists the ${kind.plural} that the caller may read, one page of them.`,
    HEAD: `Counts the ${kind.plural} that the caller may read.`,
    POST: `Creates a ${kind.name}, or answers with the one that has the id.`,
    DELETE: `Deletes the selected ${kind.plural} that the caller may write.`,
  };
  const created = method === 'POST' ? { 201: objectResponse(kind, 'Created.') } : {};
  const answer =
    method === 'HEAD'
      ? { description: 'Totals in the headers.' }
      : method === 'POST'
        ? objectResponse(kind, 'There was one with this id.')
        : { ...ref('responses', 'List') };
  return {
    summary: summaries[method] ?? '',
    parameters: [...preconditionHeaders, ...(method === 'POST' ? [] : listParameters)],
    ...requestBody(kind, operation),
    responses: {
      200: answer,
      ...created,
      ...(isRead ? { 304: { description: 'Nothing has changed.' } } : { 409: ref('responses', 'Error') }),
      ...(method === 'GET' ? { 410: ref('responses', 'Error') } : {}),
      404: ref('responses', 'Error'),
      412: ref('responses', 'Error'),
      ...refused,
    },
  };
}

function describeOnObject(kind: CompiledKind, method: string, operation: Operation): JsonObject {
  const isRead = method === 'GET' || method === 'HEAD';
  const summaries: Record<string, string> = {
    GET: `Reads the ${kind.name}.`,
    HEAD: `Tells whether the ${kind.name} is there, and its timestamp.`,
    PUT: `Creates or replaces the ${kind.name}.`,
    PATCH: `Changes some attributes or permissions of the ${kind.name}.`,
    DELETE: `Deletes the ${kind.name}.`,
  };
  const answer =
    method === 'HEAD'
      ? { description: 'It is there.' }
      : method === 'DELETE'
        ? ref('responses', 'Tombstone')
        : objectResponse(kind, 'The object as it is now.');
  return {
    summary: summaries[method] ?? '',
    parameters: [...preconditionHeaders],
    ...requestBody(kind, operation),
    responses: {
      200: answer,
      ...(method === 'PUT' ? { 201: objectResponse(kind, 'Created.') } : {}),
      ...(isRead ? { 304: { description: 'It has not changed.' } } : { 409: ref('responses', 'Error') }),
      404: ref('responses', 'Error'),
      412: ref('responses', 'Error'),
      ...refused,
    },
  };
}

function requestBody(kind: CompiledKind, { id, consumes }: Operation): JsonObject {
  if (consumes === undefined) return {};
  const schemas: Record<string, JsonObject> = { 'application/json-patch+json': ref('schemas', 'JsonPatch') };
  const use: AttributeUse = id.startsWith('patch_') ? 'patched' : 'sent';
  const content = consumes.map((type) => [type, { schema: schemas[type] ?? envelope(kind, use) }]);
  return { requestBody: { content: Object.fromEntries(content) as JsonObject } };
}

function objectResponse(kind: CompiledKind, description: string): JsonObject {
  return { description, content: { 'application/json': { schema: envelope(kind, 'stored') } } };
}

/** `{"data": …, "permissions": …}`; kinds of user resources have no permissions. */
function envelope(kind: CompiledKind, use: AttributeUse): JsonObject {
  const { isShareable, permissions } = kind;
  const isAnswer = use === 'stored';
  const general = isAnswer ? ref('schemas', 'StoredObject') : ref('schemas', 'Attributes');
  const declared = attributeSchema(kind, use);
  const principals = { type: 'array', items: { type: 'string' } };
  const entries = { type: 'object', properties: Object.fromEntries(permissions.map((name) => [name, principals])) };
  return {
    type: 'object',
    properties: {
      data: declared === undefined ? general : isAnswer ? { allOf: [general, declared] } : declared,
      ...(isShareable ? { permissions: entries } : {}),
    },
    ...(isAnswer ? { required: ['data'] } : {}),
  };
}
