// The description of the service in OpenAPI 3.1.
import type { JsonObject, JsonValue, MutableJsonObject } from '../../base/json.ts';
import type { AuthenticationPolicy } from '../../contracts/authentication.ts';
import type { DescribedHeader, DescribedParameter, DescribedResponse } from '../../engine/description.ts';
import {
  describePaths,
  hasNoBody,
  schemasOf,
  tagsOf,
  type DescribedOperation,
  type DescribedPath,
  type DocumentOptions,
} from './operations.ts';
import { reachableSchemas, referTo } from './schemas.ts';
import { errorSchema, otherError, sharedError, sharedErrorList } from './shared-errors.ts';

const section = '#/components/schemas';

/** Returns the document without the members that depend on the request. */
export function openApiDocument(options: DocumentOptions): JsonObject {
  const { policies } = options;
  const paths = describePaths(options);
  const operations = paths.flatMap((path) => path.operations);
  const schemas = { ...schemasOf(operations), Error: errorSchema };
  const used = reachableSchemas(
    [errorReference, ...operations.flatMap(({ description }) => schemasIn(description))],
    schemas,
  );
  return {
    info: {
      title: options.projectName,
      version: options.httpApiVersion,
      summary: 'A store for JSON objects with permissions, conflict detection and synchronisation.',
    },
    externalDocs: { url: options.projectDocs },
    // Anonymous callers have the permissions of `system.Everyone`, so no operation requires credentials.
    security: [{}, ...policies.map(({ name }) => ({ [name]: [] }))],
    tags: tagsOf(paths).map(({ name }) => ({ name: titleOf(name) })),
    paths: Object.fromEntries(paths.map((path) => [path.path, formatPath(path)])),
    components: {
      schemas: Object.fromEntries(Object.entries(used).map(([name, schema]) => [name, referTo(schema, section)])),
      responses: Object.fromEntries(
        sharedErrorList.map(({ name, ...response }) => [name, formatResponse('GET', response)]),
      ),
      securitySchemes: Object.fromEntries(policies.map((policy) => [policy.name, formatPolicy(policy)])),
    },
  };
}

/** Tags of the Swagger document that are no English words. Existing clients depend on them there. */
const titles: ReadonlyMap<string, string> = new Map([
  ['Permissionss', 'Permissions'],
  ['User-datas', 'User data'],
]);

function titleOf(tag: string): string {
  return titles.get(tag) ?? tag;
}

const errorReference: JsonValue = otherError.schema ?? {};

function schemasIn({ body = {}, parameters = [], responses }: DescribedOperation['description']): readonly JsonValue[] {
  return [
    ...Object.values(body),
    ...parameters.map(({ schema }) => schema),
    ...Object.values(responses).flatMap(({ schema }) => (schema === undefined ? [] : [schema])),
  ];
}

function formatPolicy({ name, challenge }: AuthenticationPolicy): JsonObject {
  const scheme = challenge.split(' ')[0]!.toLowerCase();
  return { type: 'http', scheme, description: `User ids start with ${name}:` };
}

function formatPath({ parameters, operations }: DescribedPath): JsonObject {
  const item: MutableJsonObject = {
    parameters: parameters.map(({ name, description }) => ({
      name,
      in: 'path',
      required: true,
      description,
      schema: { type: 'string' },
    })),
  };
  for (const operation of operations) item[operation.method.toLowerCase()] = formatOperation(operation);
  return item;
}

function formatOperation({ id, tag, method, isPublic, description, errors }: DescribedOperation): JsonObject {
  const { summary, details, parameters = [], body, responses } = description;
  const shared = errors.map((status) => [status, { $ref: `#/components/responses/${sharedError(status).name}` }]);
  const own = Object.entries(responses).map(([status, response]) => [status, formatResponse(method, response)]);
  return {
    operationId: id,
    tags: [titleOf(tag)],
    ...(summary === '' ? {} : { summary }),
    ...(details === undefined ? {} : { description: details }),
    ...(isPublic ? { security: [] } : {}),
    parameters: [...parameters.map(formatParameter), ...(takesFilters(description) ? [filters] : [])],
    ...(body === undefined ? {} : { requestBody: { content: formatContent(body) } }),
    responses: {
      ...(Object.fromEntries([...own, ...shared]) as JsonObject),
      default: { $ref: `#/components/responses/${otherError.name}` },
    },
  };
}

/** Whether an operation accepts filters: lists do, and all of them have `_since`. */
function takesFilters({ parameters = [] }: DescribedOperation['description']): boolean {
  return parameters.some(({ name }) => name === '_since');
}

const filters: JsonObject = {
  name: 'filters',
  in: 'query',
  description: 'Filters by attribute, each a parameter of its own.',
  style: 'form',
  explode: true,
  schema: { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
};

function formatParameter({ schema, isRequired, isDeprecated, ...parameter }: DescribedParameter): JsonObject {
  return {
    ...parameter,
    ...(isRequired === true ? { required: true } : {}),
    ...(isDeprecated === true ? { deprecated: true } : {}),
    ...(schema['type'] === 'array' && parameter.in === 'query' ? { style: 'form', explode: false } : {}),
    schema: referTo(schema, section),
  };
}

function formatContent(bodies: Readonly<Record<string, JsonObject>>): JsonObject {
  return Object.fromEntries(
    Object.entries(bodies).map(([type, schema]) => [type, { schema: referTo(schema, section) }]),
  );
}

function formatResponse(method: DescribedOperation['method'], response: DescribedResponse): JsonObject {
  const { description, schema, mediaTypes = [], headers = [] } = response;
  const types = [
    ...(schema === undefined ? [] : [['application/json', { schema: referTo(schema, section) }] as const]),
    ...mediaTypes.map((type) => [type, { schema: { type: 'string' } }] as const),
  ];
  return {
    description,
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers.map(formatHeader)) }),
    ...(hasNoBody(method, response) ? {} : { content: Object.fromEntries(types) }),
  };
}

function formatHeader({ name, description, schema, isAlwaysSent }: DescribedHeader): readonly [string, JsonObject] {
  return [name, { description, schema, ...(isAlwaysSent ? { required: true } : {}) }];
}
