// What an operation declares for descriptions of the API: parameters, bodies and responses. Both published formats are
// derived from these values.
import type { JsonObject } from '../base/json.ts';

/** A parameter of the query string, or a request header. Path parameters follow from the path. */
export interface DescribedParameter {
  readonly name: string;
  readonly in: 'query' | 'header';
  readonly description: string;
  /** JSON Schema of the value. The items of an array are separated by commas. */
  readonly schema: JsonObject;
  readonly isRequired?: boolean;
  readonly isDeprecated?: boolean;
}

export interface DescribedHeader {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  /** Whether every response with this status has it. */
  readonly isAlwaysSent: boolean;
}

export interface DescribedResponse {
  readonly description: string;
  /** JSON Schema of the body; absent: the body is empty or not JSON. */
  readonly schema?: JsonObject;
  /** Media types of a body that is not JSON. */
  readonly mediaTypes?: readonly string[];
  readonly headers?: readonly DescribedHeader[];
}

export interface OperationDescription {
  /** One sentence: what the operation does. */
  readonly summary: string;
  /** Further notes for callers. */
  readonly details?: string;
  readonly parameters?: readonly DescribedParameter[];
  /** JSON Schemas of accepted bodies, by media type. */
  readonly body?: Readonly<Record<string, JsonObject>>;
  /** Responses by status. Errors that every operation may return (400, 401, 415, 503, …) are left out. */
  readonly responses: Readonly<Record<number, DescribedResponse>>;
  /** Statuses of further errors, which not every operation returns. */
  readonly errors?: readonly number[];
  /** Schemas by the name under which `namedSchema` refers to them. */
  readonly schemas?: Readonly<Record<string, JsonObject>>;
}

/**
 * Keyword whose value replaces the schema in Swagger 2.0, which cannot express it. Without the keyword the unsupported
 * part is left out.
 */
export const swaggerKeyword = 'x-swagger';

const namedPrefix = 'named:';

/** Creates a reference to a named schema. Each format writes it in its own way. */
export function namedSchema(name: string): JsonObject {
  return { $ref: `${namedPrefix}${name}` };
}

/** Returns the name in a reference that `namedSchema` created; `undefined` for other references. */
export function nameInReference(reference: string): string | undefined {
  return reference.startsWith(namedPrefix) ? reference.slice(namedPrefix.length) : undefined;
}

/** Returns the schema of an object that has all of these members. */
export function objectWith(properties: JsonObject): JsonObject {
  return { type: 'object', properties, required: Object.keys(properties) };
}

/** Creates the description of a parameter in the query string. */
export function queryParameter(name: string, description: string, schema: JsonObject): DescribedParameter {
  return { name, in: 'query', description, schema };
}

/** Creates the description of a read without parameters that returns a JSON object. */
export function describeDocument(summary: string, description: string, properties?: JsonObject): OperationDescription {
  const schema: JsonObject = properties === undefined ? { type: 'object' } : { type: 'object', properties };
  return { summary, responses: { 200: { description, schema } } };
}
