// `/__api__`: the description of the service for tools, generated from the same endpoint records that routing uses.
import type { JsonObject, JsonValue, MutableJsonObject } from '../../base/json.ts';
import type { AuthenticationPolicy } from '../../contracts/authentication.ts';
import { forReading, type Endpoint, type Operation } from '../../engine/endpoint.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';

export interface ApiDescriptionOptions {
  readonly projectName: string;
  readonly httpApiVersion: string;
  readonly versionPrefix: string;
  readonly policies: readonly AuthenticationPolicy[];
  /** All endpoints of the service, this one included; asked for when the first description is made. */
  readonly endpoints: () => readonly Endpoint[];
}

export function apiDescriptionEndpoint(options: ApiDescriptionOptions): Endpoint {
  let paths: JsonObject | undefined;
  const handle = ({ request }: { request: { origin: string } }): Promise<ServiceResponse> => {
    paths ??= describePaths(options.endpoints());
    const [scheme = 'http', host = ''] = request.origin.split('://');
    return Promise.resolve(jsonResponse(200, describe(options, paths, scheme, host)));
  };
  return {
    name: 'openapi',
    path: '/__api__',
    isResource: false,
    ignoresCaller: true,
    operations: forReading('get_openapi_spec', handle),
  };
}

function describe(options: ApiDescriptionOptions, paths: JsonObject, scheme: string, host: string): JsonObject {
  return {
    swagger: '2.0',
    info: { title: options.projectName, version: options.httpApiVersion },
    host,
    schemes: [scheme],
    basePath: options.versionPrefix,
    consumes: ['application/json'],
    produces: ['application/json'],
    securityDefinitions: Object.fromEntries(options.policies.map((policy) => [policy.name, describePolicy(policy)])),
    security: options.policies.map(({ name }) => ({ [name]: [] })),
    tags: [...new Set(Object.values(paths).flatMap(tagsOf))].map((name) => ({ name })),
    paths,
  };
}

function describePolicy({ challenge }: AuthenticationPolicy): JsonObject {
  return challenge.startsWith('Basic') ? { type: 'basic' } : { type: 'apiKey', name: 'Authorization', in: 'header' };
}

function describePaths(endpoints: readonly Endpoint[]): JsonObject {
  const paths: MutableJsonObject = {};
  for (const endpoint of endpoints) {
    // Files are no part of the programming interface, and a path with slashes in it cannot be described.
    if (endpoint.path.endsWith('{*}')) continue;
    const operations: MutableJsonObject = {};
    for (const [method, operation] of Object.entries(endpoint.operations)) {
      if (method !== 'HEAD') operations[method.toLowerCase()] = describeOperation(endpoint, method, operation);
    }
    paths[endpoint.path] = operations;
  }
  return paths;
}

function describeOperation(endpoint: Endpoint, method: string, { id, consumes }: Operation): JsonObject {
  const parameters: JsonValue[] = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    type: 'string',
  }));
  if (consumes !== undefined) {
    parameters.push({ name: 'body', in: 'body', required: false, schema: { type: 'object' } });
  }
  return {
    operationId: id,
    tags: [tagOf(endpoint)],
    parameters,
    ...(consumes === undefined ? {} : { consumes: [...consumes] }),
    responses: describeResponses(endpoint, method),
  };
}

function describeResponses({ isResource, path }: Endpoint, method: string): JsonObject {
  const responses: MutableJsonObject = {
    200: { description: 'The answer to the request.' },
    default: { description: 'Something is wrong; the body says what.', schema: { type: 'object' } },
  };
  if (!isResource) return responses;
  const isList = !path.endsWith('}');
  if ((isList && method === 'POST') || method === 'PUT') responses['201'] = { description: 'The object was created.' };
  responses['401'] = { description: 'Credentials are required.' };
  responses['403'] = { description: 'The caller is not allowed to do this.' };
  responses['412'] = { description: 'A precondition does not hold.' };
  return responses;
}

function tagOf({ name, tag, isResource }: Endpoint): string {
  return tag ?? (isResource ? `${name.split('-')[0]}s` : 'utilities');
}

function tagsOf(operations: JsonValue): readonly string[] {
  return Object.values(operations as JsonObject).flatMap(
    (operation) => (operation as { tags: readonly string[] }).tags,
  );
}
