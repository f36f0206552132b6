// From endpoint records to the operations that a description of the API lists: each with its tag, its path parameters and
// every response that the service may give. The two formats are written from these values.
import type { JsonObject } from '../../base/json.ts';
import type { AuthenticationPolicy } from '../../contracts/authentication.ts';
import type { DescribedResponse, OperationDescription } from '../../engine/description.ts';
import type { Endpoint, Method, Operation } from '../../engine/endpoint.ts';

export interface DescribedOperation {
  readonly method: Method;
  readonly id: string;
  readonly tag: string;
  /** Whether credentials make no difference. */
  readonly isPublic: boolean;
  readonly description: OperationDescription;
  /** Media types of its body; none: it ignores the body. */
  readonly consumes: readonly string[];
  /** Statuses of errors whose response every operation shares. */
  readonly errors: readonly number[];
}

export interface DescribedPathParameter {
  readonly name: string;
  readonly description: string;
}

export interface DescribedPath {
  readonly path: string;
  readonly parameters: readonly DescribedPathParameter[];
  readonly operations: readonly DescribedOperation[];
}

export interface DescribedService {
  /** All endpoints of the service, those of the descriptions included; read when the first document is made. */
  readonly endpoints: () => readonly Endpoint[];
  /** Status for clients that do not accept JSON, which the settings choose. */
  readonly notAcceptableStatus: number;
}

/** The service as a whole document presents it. */
export interface DocumentOptions extends DescribedService {
  readonly projectName: string;
  readonly projectDocs: string;
  readonly httpApiVersion: string;
  readonly versionPrefix: string;
  readonly policies: readonly AuthenticationPolicy[];
}

/** Describes every endpoint of the programming interface; pages and files for browsers are no part of it. */
export function describePaths({ endpoints, notAcceptableStatus }: DescribedService): readonly DescribedPath[] {
  return endpoints()
    .filter(({ path, isForBrowsers }) => isForBrowsers !== true && !path.endsWith('{*}'))
    .map((endpoint) => ({
      path: endpoint.path,
      parameters: pathParameters(endpoint),
      operations: Object.entries(endpoint.operations).map(([method, operation]) =>
        describeOperation(endpoint, method as Method, operation, notAcceptableStatus),
      ),
    }));
}

/** Every tag once, in the order of the paths. */
export function tagsOf(paths: readonly DescribedPath[]): readonly JsonObject[] {
  const names = new Set(paths.flatMap(({ operations }) => operations.map(({ tag }) => tag)));
  return Array.from(names, (name) => ({ name }));
}

/** Every named schema that an operation declares. */
export function schemasOf(operations: readonly DescribedOperation[]): Readonly<Record<string, JsonObject>> {
  return Object.assign({}, ...operations.map(({ description }) => description.schemas ?? {})) as Record<
    string,
    JsonObject
  >;
}

function pathParameters({ path, parameters = {} }: Endpoint): readonly DescribedPathParameter[] {
  return Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => {
    const rule = parameters[name];
    const description = name.endsWith('_id') ? `Id of the ${name.slice(0, -'_id'.length)}.` : `The ${name}.`;
    return { name, description: rule === undefined ? description : `${description} Accepted: ${rule.form}.` };
  });
}

const undescribed: OperationDescription = {
  summary: '',
  responses: { 200: { description: 'The response to the request.' } },
};

function describeOperation(
  endpoint: Endpoint,
  method: Method,
  operation: Operation,
  notAcceptableStatus: number,
): DescribedOperation {
  const description = operation.describe?.() ?? undescribed;
  const body = Object.keys(description.body ?? {});
  return {
    method,
    id: operation.id,
    tag: tagOf(endpoint),
    isPublic: endpoint.ignoresCaller === true,
    description,
    consumes: operation.consumes ?? body,
    errors: sharedErrors(endpoint, operation, description, notAcceptableStatus),
  };
}

/** The tag as existing clients know it, `Buckets`; what has none is a utility. */
function tagOf({ name, tag, isResource }: Endpoint): string {
  const words = tag ?? (isResource ? `${name.split('-')[0]}s` : 'utilities');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function sharedErrors(
  { isResource, ignoresCaller, isVital }: Endpoint,
  { consumes, receive }: Operation,
  { errors = [], responses }: OperationDescription,
  notAcceptableStatus: number,
): readonly number[] {
  const takesBody = consumes !== undefined || receive !== undefined;
  const statuses = new Set([
    ...errors,
    ...(isVital === true ? [] : [400, 429, 503]),
    ...(ignoresCaller === true ? [] : [401, 403]),
    ...(isResource ? [notAcceptableStatus] : []),
    ...(takesBody ? [413, 415] : []),
  ]);
  return [...statuses].filter((status) => !Object.hasOwn(responses, status)).toSorted((a, b) => a - b);
}

/** The response to HEAD has headers and no body. */
export function hasNoBody(method: Method, { schema, mediaTypes }: DescribedResponse): boolean {
  return method === 'HEAD' || (schema === undefined && mediaTypes === undefined);
}
