// Resolves the references of a schema. The document is indexed once: every part with an id is a resource with anchors of its
// own. Nothing outside the document is fetched; the only other known resource is the meta-schema.
import { getKey, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { runAtOnce, type Steps } from '../../base/steps.ts';
import { parseArrayIndex, parsePointer } from '../patch/json-pointer.ts';
import type { Dialect } from './keyword.ts';
import { draft07 } from './meta-schema.ts';

export interface Resource {
  readonly uri: string;
  readonly root: JsonObject;
  readonly anchors: Map<string, JsonObject>;
  readonly dynamicAnchors: Map<string, JsonObject>;
}

export interface Target {
  readonly schema: JsonValue;
  readonly resource: Resource;
}

/** Parts of a document to index per step. */
const partsPerStep = 500;

/** Base URI of a schema without one, for relative references. */
const nowhere = 'schema://document/';
const draft07Uri = 'http://json-schema.org/draft-07/schema';

const singleKeywords: ReadonlySet<string> = new Set([
  'additionalItems',
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]);
const listKeywords: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const mapKeywords: ReadonlySet<string> = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
]);
const eitherKeywords: ReadonlySet<string> = new Set(['disallow', 'extends', 'items', 'type']);

/** Yields the direct subschemas of a schema. */
export function* subschemas(schema: JsonObject): Generator<JsonObject> {
  for (const key of Object.keys(schema)) {
    const value = schema[key]!;
    const isList = listKeywords.has(key) || eitherKeywords.has(key);
    if (Array.isArray(value)) {
      if (isList) yield* (value as readonly JsonValue[]).filter(isJsonObject);
    } else if (isJsonObject(value)) {
      if (mapKeywords.has(key)) yield* Object.values(value).filter(isJsonObject);
      else if (singleKeywords.has(key) || eitherKeywords.has(key)) yield value;
    }
  }
}

export class References {
  /** Whether the document has references that depend on the dynamic scope. */
  isDynamic = false;
  readonly #dialect: Dialect;
  readonly #resources = new Map<string, Resource>();
  readonly #resourceOf = new Map<JsonObject, Resource>();
  readonly #document: Resource;

  private constructor(document: JsonObject, dialect: Dialect) {
    this.#dialect = dialect;
    this.#document = this.#addResource(nowhere, document);
  }

  /** Indexes the references of a document. */
  static *of(document: JsonObject, dialect: Dialect): Steps<References> {
    const references = new References(document, dialect);
    yield* references.#index(document, references.#document);
    return references;
  }

  /** Returns the resource of a schema of the document. */
  resourceOf(schema: JsonObject): Resource {
    return this.#resourceOf.get(schema) ?? this.#document;
  }

  /** Returns the target of a reference in a resource; `undefined` when it is unknown. */
  resolve(reference: string, base: Resource): Target | undefined {
    const url = parseUrl(reference, base.uri);
    if (url === undefined) return undefined;
    const fragment = decodeFragment(url.hash.slice(1));
    url.hash = '';
    const resource = this.#resources.get(url.href) ?? this.#knownResource(url.href);
    if (resource === undefined || fragment === undefined) return undefined;
    if (fragment === '') return { schema: resource.root, resource };
    if (fragment.startsWith('/')) return this.#followPointer(resource, fragment);
    const schema = resource.anchors.get(fragment) ?? resource.dynamicAnchors.get(fragment);
    return schema && { schema, resource };
  }

  #knownResource(uri: string): Resource | undefined {
    if (uri !== draft07Uri) return undefined;
    const resource = this.#addResource(draft07Uri, draft07);
    runAtOnce(this.#index(draft07, resource));
    return resource;
  }

  #followPointer(start: Resource, pointer: string): Target | undefined {
    let schema: JsonValue | undefined = start.root;
    let resource = start;
    for (const token of parsePointer(pointer) ?? ['']) {
      if (Array.isArray(schema)) {
        const index = parseArrayIndex(token);
        schema = index === undefined ? undefined : (schema as readonly JsonValue[])[index];
      } else schema = isJsonObject(schema) ? getKey(schema, token) : undefined;
      if (schema === undefined) return undefined;
      if (isJsonObject(schema)) resource = this.#resourceOf.get(schema) ?? resource;
    }
    if (isJsonObject(schema) && !this.#resourceOf.has(schema)) runAtOnce(this.#index(schema, resource));
    return { schema: schema!, resource };
  }

  *#index(document: JsonObject, outer: Resource): Steps<void> {
    const ahead: [JsonObject, Resource][] = [[document, outer]];
    for (let next = ahead.pop(), count = 1; next !== undefined; next = ahead.pop(), count++) {
      const [schema, around] = next;
      const resource = this.#indexPart(schema, around);
      const inner = [...subschemas(schema)].toReversed();
      for (const part of inner) ahead.push([part, resource]);
      if (count % partsPerStep === 0) yield;
    }
  }

  #indexPart(schema: JsonObject, outer: Resource): Resource {
    let resource = outer;
    const hasRef = typeof getKey(schema, '$ref') === 'string';
    // Up to draft 7 siblings of a reference are ignored, including the id.
    if (this.#dialect >= 2019 || !hasRef) resource = this.#readId(schema, outer);
    this.#resourceOf.set(schema, resource);
    if (this.#dialect >= 2019) this.#readAnchors(schema, resource);
    return resource;
  }

  #readId(schema: JsonObject, outer: Resource): Resource {
    const id = getKey(schema, this.#dialect <= 4 ? 'id' : '$id');
    if (typeof id !== 'string') return outer;
    if (this.#dialect <= 7 && id.startsWith('#')) {
      outer.anchors.set(id.slice(1), schema);
      return outer;
    }
    const url = parseUrl(id, outer.uri);
    if (url === undefined) return outer;
    const anchor = decodeFragment(url.hash.slice(1)) ?? '';
    url.hash = '';
    const resource = this.#addResource(url.href, schema);
    if (anchor !== '') resource.anchors.set(anchor, schema);
    return resource;
  }

  #readAnchors(schema: JsonObject, resource: Resource): void {
    const anchor = getKey(schema, '$anchor');
    if (typeof anchor === 'string') resource.anchors.set(anchor, schema);
    const dynamic = getKey(schema, '$dynamicAnchor');
    if (this.#dialect === 2020 && typeof dynamic === 'string') resource.dynamicAnchors.set(dynamic, schema);
    this.isDynamic ||= Object.hasOwn(schema, '$dynamicRef') || Object.hasOwn(schema, '$recursiveRef');
  }

  #addResource(uri: string, root: JsonObject): Resource {
    const resource = { uri, root, anchors: new Map(), dynamicAnchors: new Map() };
    this.#resources.set(uri, resource);
    return resource;
  }
}

function parseUrl(text: string, base: string): URL | undefined {
  return URL.canParse(text, base) ? new URL(text, base) : undefined;
}

function decodeFragment(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // Invalid percent encoding matches no anchor.
    return undefined;
  }
}
