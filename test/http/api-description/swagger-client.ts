// A client that knows nothing but the Swagger document of a service. It finds operations by tag and id, checks requests
// against the declared parameters before it sends them, and checks every response against the declared headers and body.
import SwaggerParser from '@apidevtools/swagger-parser';
import type { Ajv as Validator, ErrorObject } from 'ajv';
import draft04 from 'ajv-draft-04';
import type { TestClient, TestRequest, TestResponse } from '../../../src/testing/index.ts';

type Schema = Readonly<Record<string, unknown>>;

interface Parameter extends Schema {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'body' | 'formData';
  readonly required?: boolean;
  readonly type?: string;
  readonly schema?: Schema;
}

interface DescribedResponse {
  readonly schema?: Schema;
  readonly headers?: Readonly<Record<string, Schema>>;
}

interface DescribedOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly produces?: readonly string[];
  readonly responses: Readonly<Record<string, DescribedResponse>>;
}

/** Operations by method; `parameters` are those of all of them. */
type PathItem = Readonly<Record<string, DescribedOperation | readonly Parameter[]>>;

interface SwaggerDocument {
  readonly basePath: string;
  readonly produces: readonly string[];
  readonly paths: Readonly<Record<string, PathItem>>;
}

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly produces: readonly string[];
  readonly responses: DescribedOperation['responses'];
}

/** Values of parameters by place, as a program would hand them over. */
export interface Values {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** The request or the response contradicts the document. */
export class Contradiction extends Error {}

// The dialect of Swagger is near draft 4; its `format`s say nothing that these documents rely on.
const ajv: Validator = new draft04.default({ strict: false, validateFormats: false, allErrors: true });

export class SwaggerClient {
  readonly #document: SwaggerDocument;
  readonly #service: TestClient;
  readonly #resources = new Map<string, Map<string, Operation>>();

  /** Reads and checks the document of a service, and resolves every reference in it. */
  static async of(service: TestClient): Promise<SwaggerClient> {
    const { text } = await service.request('GET', '/v1/__api__');
    await SwaggerParser.validate(JSON.parse(text));
    // `x-nullable` is the extension of clients for what validators of JSON Schema call `nullable`.
    const resolved: unknown = await SwaggerParser.dereference(
      JSON.parse(text.replaceAll('"x-nullable"', '"nullable"')),
    );
    return new SwaggerClient(resolved as SwaggerDocument, service);
  }

  constructor(document: SwaggerDocument, service: TestClient) {
    this.#document = document;
    this.#service = service;
    for (const [path, item] of Object.entries(document.paths)) {
      const members = Object.entries(item);
      const shared = members.flatMap(([, member]) => (isParameters(member) ? member : []));
      for (const [method, member] of members) {
        if (!isParameters(member)) this.#add(path, method, member, shared);
      }
    }
  }

  get tags(): readonly string[] {
    return [...this.#resources.keys()];
  }

  /** The operations of a tag, by id. */
  resource(tag: string): ReadonlyMap<string, Operation> {
    const operations = this.#resources.get(tag);
    if (operations === undefined) throw new Contradiction(`no tag ${tag}`);
    return operations;
  }

  operation(tag: string, id: string): Operation {
    const operation = this.resource(tag).get(id);
    if (operation === undefined) throw new Contradiction(`no operation ${id} in ${tag}`);
    return operation;
  }

  /** Checks the values against the declared parameters, and sends the request. The response is checked as well. */
  async call(operation: Operation, values: Values, options: Pick<TestRequest, 'auth'>): Promise<TestResponse> {
    requireValidRequest(operation, values);
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => String(values.path?.[name]));
    const response = await this.#service.request(operation.method, `${this.#document.basePath}${path}`, {
      ...options,
      body: values.body ?? {},
    });
    requireValidResponse(operation, response);
    return response;
  }

  #add(path: string, method: string, described: DescribedOperation, shared: readonly Parameter[]): void {
    const { operationId: id, tags, parameters = [], produces = this.#document.produces, responses } = described;
    const operation = {
      id,
      method: method.toUpperCase(),
      path,
      parameters: [...shared, ...parameters],
      produces,
      responses,
    };
    for (const tag of tags) {
      const operations = this.#resources.get(tag) ?? new Map<string, Operation>();
      this.#resources.set(tag, operations.set(id, operation));
    }
  }
}

/** @throws Contradiction when the document does not allow the values */
export function requireValidRequest({ id, parameters }: Operation, values: Values): void {
  for (const parameter of parameters) {
    const { name, required } = parameter;
    const value = valueOf(parameter, values);
    if (value === undefined) {
      if (required === true) throw new Contradiction(`${id}: ${name} is required`);
      continue;
    }
    require(parameter.schema ?? typeOf(parameter), cast(parameter, value), `${id}: ${name}`);
  }
}

/** @throws Contradiction when the document has no such response, or another one */
export function requireValidResponse(operation: Operation, response: TestResponse): void {
  const { id, responses, produces } = operation;
  const described = responses[String(response.status)];
  if (described === undefined) throw new Contradiction(`${id}: ${response.status} ${response.text} is not declared`);
  for (const [name, schema] of Object.entries(described.headers ?? {})) {
    const text = response.headers[name.toLowerCase()];
    require(schema, schema['type'] === 'integer' ? Number(text) : text, `${id}: header ${name}`);
  }
  if (described.schema === undefined) {
    if (response.text !== '') throw new Contradiction(`${id}: ${response.status} has a body`);
    return;
  }
  const type = response.headers['content-type']?.split(';')[0] ?? '';
  if (!produces.includes(type)) throw new Contradiction(`${id}: ${type} is not declared`);
  require(described.schema, type === 'application/json' ? response.body : response.text, `${id}: body`);
}

function isParameters(member: DescribedOperation | readonly Parameter[]): member is readonly Parameter[] {
  return Array.isArray(member);
}

function valueOf({ name, in: place }: Parameter, { path, query, headers, body }: Values): unknown {
  if (place === 'body') return body;
  const values = { path, query, header: headers, formData: undefined }[place];
  return values?.[name];
}

/** Programs hand over texts. */
function cast({ type }: Parameter, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (type === 'array') return value.split(',');
  return type === 'integer' && value !== '' && Number.isInteger(Number(value)) ? Number(value) : value;
}

/** The parameter as the schema that it is besides. */
function typeOf({ name: _name, in: _in, required: _required, ...schema }: Parameter): Schema {
  return schema;
}

function require(schema: Schema, value: unknown, what: string): void {
  const validate = ajv.compile(schema);
  if (validate(value ?? null)) return;
  const faults = (validate.errors ?? []).map(({ instancePath, message }: ErrorObject) => `${instancePath} ${message}`);
  throw new Contradiction(`${what}: ${faults.join('; ')} in ${JSON.stringify(value)}`);
}
