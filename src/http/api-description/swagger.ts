// The description of the service in Swagger 2.0, with the tags, operation ids and parameter names of Kinto, from which existing
// clients generate their methods.
import type { JsonObject, JsonValue, MutableJsonObject } from '../../base/json.ts';
import { getKey, isJsonObject } from '../../base/json.ts';
import type { AuthenticationPolicy } from '../../contracts/authentication.ts';
import type { DescribedHeader, DescribedParameter, DescribedResponse } from '../../engine/description.ts';
import {
  describePaths,
  schemasOf,
  tagsOf,
  type DescribedOperation,
  type DescribedPath,
  type DocumentOptions,
} from './operations.ts';
import { reachableSchemas } from './schemas.ts';
import { errorSchema, otherError, sharedError, sharedErrorList } from './shared-errors.ts';
import { swaggerSchema, swaggerValue } from './swagger-schema.ts';

const json = 'application/json';

/** Returns the document without the members that depend on the request. */
export function swaggerDocument(options: DocumentOptions): JsonObject {
  const { policies } = options;
  const paths = describePaths(options);
  const security = policies.map(({ name }) => ({ [name]: [] }));
  const operations = paths.flatMap((path) => path.operations.filter(isListed));
  const schemas = { ...schemasOf(operations), Error: errorSchema };
  const used = reachableSchemas([otherError.schema ?? {}, ...operations.flatMap(schemasIn)], schemas);
  return {
    info: { title: options.projectName, version: options.httpApiVersion },
    externalDocs: { description: 'The documentation', url: options.projectDocs },
    basePath: options.versionPrefix,
    consumes: [json],
    produces: [json],
    securityDefinitions: Object.fromEntries(policies.map((policy) => [policy.name, formatPolicy(policy)])),
    security,
    tags: tagsOf(paths),
    paths: Object.fromEntries(paths.map((path) => [clientPath(path).path, formatPath(path, security)])),
    definitions: Object.fromEntries(Object.entries(used).map(([name, schema]) => [name, swaggerSchema(schema)])),
    responses: Object.fromEntries(sharedErrorList.map(({ name, ...response }) => [name, formatResponse(response)])),
  };
}

/** Whether an operation is listed. Generated clients expect a body, which responses to HEAD lack. */
function isListed({ method }: DescribedOperation): boolean {
  return method !== 'HEAD';
}

function schemasIn(operation: DescribedOperation): readonly JsonValue[] {
  const { body = {}, responses } = operation.description;
  return [
    ...acceptedTypes(operation).flatMap((type) => body[type] ?? []),
    ...Object.values(responses).flatMap(({ schema }) => schema ?? []),
  ];
}

function formatPolicy({ challenge }: AuthenticationPolicy): JsonObject {
  return challenge.startsWith('Basic') ? { type: 'basic' } : { type: 'apiKey', name: 'Authorization', in: 'header' };
}

/** Returns the path with `{id}` for the object itself; ids of parents keep their names. */
function clientPath({ path, parameters }: DescribedPath): Pick<DescribedPath, 'path' | 'parameters'> {
  const [, own] = /\/\{(\w+_id)\}$/.exec(path) ?? [];
  if (own === undefined) return { path, parameters };
  return {
    path: `${path.slice(0, -`{${own}}`.length)}{id}`,
    parameters: parameters.map((parameter) => (parameter.name === own ? { ...parameter, name: 'id' } : parameter)),
  };
}

/** @param security the policies of operations that may require credentials, which each of them names for generated clients */
function formatPath(path: DescribedPath, security: readonly JsonObject[]): JsonObject {
  const item: MutableJsonObject = {};
  const { parameters } = clientPath(path);
  if (parameters.length > 0) {
    item['parameters'] = parameters.map(({ name, description }) => ({
      name,
      in: 'path',
      required: true,
      description,
      type: 'string',
    }));
  }
  for (const operation of path.operations.filter(isListed)) {
    item[operation.method.toLowerCase()] = formatOperation(operation, security);
  }
  return item;
}

function formatOperation(operation: DescribedOperation, security: readonly JsonObject[]): JsonObject {
  const { id, tag, isOpen, description, errors } = operation;
  const { summary, details, parameters = [], responses } = description;
  const shared = errors.map((status) => [status, { $ref: `#/responses/${sharedError(status).name}` }]);
  const own = Object.entries(responses).map(([status, response]) => [status, formatResponse(response)]);
  const others = Object.values(responses).flatMap(({ mediaTypes = [] }) => mediaTypes);
  const types = acceptedTypes(operation);
  return {
    operationId: id,
    tags: [tag],
    ...(summary === '' ? {} : { summary }),
    ...(details === undefined ? {} : { description: details }),
    security: isOpen ? [] : security,
    parameters: [...parameters.map(formatParameter), ...formatBody(operation)],
    ...(types.length === 0 ? {} : { consumes: types }),
    produces: [...new Set([json, ...others])],
    responses: {
      ...(Object.fromEntries([...own, ...shared]) as JsonObject),
      default: { $ref: `#/responses/${otherError.name}` },
    },
  };
}

/** Returns the media types with the schema of the first one: in this format an operation has one schema for its body. */
function acceptedTypes({ description, consumes }: DescribedOperation): readonly string[] {
  const { body } = description;
  const first = consumes[0];
  if (body === undefined || first === undefined) return consumes;
  return consumes.filter((type) => body[type] === body[first]);
}

function formatBody(operation: DescribedOperation): readonly JsonObject[] {
  const { description, consumes } = operation;
  const [type] = acceptedTypes(operation);
  if (type === undefined) return [];
  const schema = description.body?.[type];
  if (type === 'multipart/form-data' && schema !== undefined) return formFields(schema);
  const inUse = schema ?? { type: 'object' };
  return [{ name: 'body', in: 'body', required: false, schema: swaggerSchema(inUse), ...mentioned(consumes, type) }];
}

/** Returns a note about the body format that this document cannot describe. */
function mentioned(consumes: readonly string[], type: string): JsonObject {
  const patch = 'application/json-patch+json';
  return type !== patch && consumes.includes(patch) ? { description: `${patch} is accepted as well.` } : {};
}

function formFields(schema: JsonObject): readonly JsonObject[] {
  const properties = getKey(schema, 'properties');
  const required = getKey(schema, 'required');
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([name, property]) => {
    const isFile = isJsonObject(property) && property['format'] === 'binary';
    const isRequired = Array.isArray(required) && required.includes(name);
    return { name, in: 'formData', required: isRequired, ...(isFile ? { type: 'file' } : { type: 'string' }) };
  });
}

function formatParameter({ schema, isRequired, isDeprecated, ...parameter }: DescribedParameter): JsonObject {
  return {
    ...parameter,
    ...(isDeprecated === true ? { description: `${parameter.description} Deprecated.` } : {}),
    required: isRequired === true,
    ...swaggerValue(schema),
  };
}

function formatResponse({ description, schema, mediaTypes, headers = [] }: DescribedResponse): JsonObject {
  // Clients expect declared headers in every response.
  const sent = headers.filter(({ isAlwaysSent }) => isAlwaysSent);
  const body = schema ?? (mediaTypes === undefined ? undefined : { type: 'string' });
  return {
    description,
    ...(sent.length === 0 ? {} : { headers: Object.fromEntries(sent.map(formatHeader)) }),
    ...(body === undefined ? {} : { schema: swaggerSchema(body) }),
  };
}

function formatHeader({ name, description, schema }: DescribedHeader): readonly [string, JsonObject] {
  return [name, { description, ...swaggerValue(schema) }];
}
