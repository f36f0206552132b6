// Converts endpoints to described operations with tags, path parameters and all responses. Both formats are derived from them.
import type { JsonObject } from '../../base/json.ts';
import type { AuthenticationPolicy } from '../../contracts/authentication.ts';
import type { DescribedResponse, OperationDescription } from '../../engine/description.ts';
import type { Endpoint, Method, Operation } from '../../engine/endpoint.ts';

export interface DescribedOperation {
  readonly method: Method;
  readonly id: string;
  readonly tag: string;
  /** Whether credentials have no effect. */
  readonly isPublic: boolean;
  /** Whether no credentials are required, although they may have an effect. */
  readonly isOpen: boolean;
  readonly description: OperationDescription;
  /** Media types of the body; none when the body is ignored. */
  readonly consumes: readonly string[];
  /** Statuses of shared error responses. */
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
  /** Returns all endpoints of the service, including these; called for the first document. */
  readonly endpoints: () => readonly Endpoint[];
  /** Status for clients that do not accept JSON. */
  readonly notAcceptableStatus: number;
}

/** Facts about the service in the head of a document. */
export interface DocumentOptions extends DescribedService {
  readonly projectName: string;
  readonly projectDocs: string;
  readonly httpApiVersion: string;
  readonly versionPrefix: string;
  readonly policies: readonly AuthenticationPolicy[];
}

/** Describes all endpoints except pages and files for browsers. */
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

/** Returns each tag once, in the order of the paths. */
export function tagsOf(paths: readonly DescribedPath[]): readonly { readonly name: string }[] {
  const names = new Set(paths.flatMap(({ operations }) => operations.map(({ tag }) => tag)));
  return Array.from(names, (name) => ({ name }));
}

/** Returns all named schemas of the operations. */
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
    isOpen: endpoint.ignoresCaller === true || endpoint.isOpen === true,
    description,
    consumes: operation.consumes ?? body,
    errors: sharedErrors(endpoint, operation, description, notAcceptableStatus),
  };
}

/** Returns the tag as Kinto names it, such as `Buckets`; the default is `Utilities`. */
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

/** Whether a response has no body. */
export function hasNoBody(method: Method, { schema, mediaTypes }: DescribedResponse): boolean {
  return method === 'HEAD' || (schema === undefined && mediaTypes === undefined);
}
