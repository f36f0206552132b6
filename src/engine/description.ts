// What an operation declares for descriptions of the API: parameters, bodies and responses. Both formats that the service
// publishes are derived from these values, so that neither is written by hand.
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
  /** JSON Schema of the body; absent: the body is empty, or no JSON. */
  readonly schema?: JsonObject;
  /** Media types of a body that is no JSON. */
  readonly mediaTypes?: readonly string[];
  readonly headers?: readonly DescribedHeader[];
}

export interface OperationDescription {
  /** One sentence: what the operation does. */
  readonly summary: string;
  /** What a caller needs to know besides. */
  readonly details?: string;
  readonly parameters?: readonly DescribedParameter[];
  /** JSON Schemas of the bodies that it takes, by media type. */
  readonly body?: Readonly<Record<string, JsonObject>>;
  /** By status. Errors that any operation may give (400, 401, 415, 503, …) need no mention. */
  readonly responses: Readonly<Record<number, DescribedResponse>>;
  /** Statuses of errors that not every operation gives. */
  readonly errors?: readonly number[];
  /** Named schemas that the others refer to by `namedSchema`. */
  readonly schemas?: Readonly<Record<string, JsonObject>>;
}

/**
 * Keyword of a schema that Swagger 2.0 cannot express: the schema that takes its place in that format. Without it the
 * part that the format lacks is left out.
 */
export const swaggerKeyword = 'x-swagger';

const namedPrefix = 'named:';

/** A reference to one of the named schemas. Each format writes it in its own way. */
export function namedSchema(name: string): JsonObject {
  return { $ref: `${namedPrefix}${name}` };
}

/** The name in a reference that `namedSchema` has made; `undefined` for other references. */
export function nameInReference(reference: string): string | undefined {
  return reference.startsWith(namedPrefix) ? reference.slice(namedPrefix.length) : undefined;
}

/** A parameter of the query string. */
export function queryParameter(name: string, description: string, schema: JsonObject): DescribedParameter {
  return { name, in: 'query', description, schema };
}

/** The description of a read that has no parameters and returns a JSON object. */
export function describeDocument(summary: string, description: string, properties?: JsonObject): OperationDescription {
  const schema: JsonObject = properties === undefined ? { type: 'object' } : { type: 'object', properties };
  return { summary, responses: { 200: { description, schema } } };
}
