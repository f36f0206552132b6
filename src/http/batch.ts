// `POST /batch`: several requests in one unit of work, each dispatched like a single request.
import { quoteText } from '../base/abbreviate.ts';
import { formatJson, getKey, isJsonObject, setKey } from '../base/json.ts';
import { JsonSyntaxError, type JsonObject, type JsonValue, type MutableJsonObject } from '../base/json.ts';
import { withoutSlashesAtEnd } from '../base/slashes-at-end.ts';
import { pause } from '../base/steps.ts';
import { invalidParameters, ServiceError, type Issue } from '../core/errors.ts';
import type { Context } from '../engine/context.ts';
import type { Endpoint } from '../engine/endpoint.ts';
import { WorkAwaited } from '../engine/work-ahead.ts';
import {
  mediaType,
  RequestBody,
  Siblings,
  type MemoryAccount,
  type RequestHeaders,
  type ResponseBody,
  type ResponseHeaders,
  type ServiceRequest,
  type ServiceResponse,
} from '../engine/exchange.ts';
import { describeBatch } from './batch-description.ts';
import { runEntry } from './batch-entry.ts';
import { findHeadersFault } from './batch-headers.ts';
import { BatchSize, jsonWeight, requireFitting } from './batch-size.ts';
import { smallBytes } from './request-memory.ts';
import { parseTarget } from './target.ts';

export interface BatchOptions {
  /** Maximum number of entries; 0 means unlimited. */
  readonly maxRequests: number;
  /** Maximum size in bytes of all entries with inherited defaults, and of all responses. */
  readonly maxBytes: number;
  /** Maximum size in bytes of the headers of an entry with inherited defaults. */
  readonly maxHeaderBytes: number;
  /** `/v1`, or `/api/v1` with a path prefix. */
  readonly versionPrefix: string;
}

interface Entry {
  readonly method: string;
  /** Target with version prefix and query. */
  readonly target: string;
  /** Headers of the entry itself. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly body: JsonValue | undefined;
}

interface ParsedBatch {
  readonly entries: readonly Entry[];
  /** Size that the defaults add to all entries. */
  readonly defaultsBytes: number;
}

/** Maximum time for entries in one turn of the event loop: in-process backends never yield. */
const maxTurnMs = 5;

const listOfRequests = 'expected a list of requests, as in {"requests": [{"method": "GET", "path": "/buckets"}]}';
const methods: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE'];
const entryKeys: readonly string[] = ['method', 'path', 'headers', 'body'];
const patchTypes: readonly string[] = ['application/merge-patch+json', 'application/json-patch+json'];

/** The batch endpoint. */
export function batchEndpoint(options: BatchOptions): Endpoint {
  return {
    name: 'batch',
    tag: 'batch',
    path: '/batch',
    isResource: false,
    isOpen: true,
    operations: {
      POST: {
        id: 'batch',
        consumes: ['application/json'],
        describe: () => describeBatch(options.maxRequests),
        handle: (context) => runBatch(options, context),
      },
    },
  };
}

async function runBatch(options: BatchOptions, context: Context): Promise<ServiceResponse> {
  const parts: string[] = [];
  let chars = 0;
  const size = new BatchSize(options.maxBytes, context.request);
  const outer = outerHeaders(context.request.headers);
  const loading = context.request.body.load();
  if (loading !== undefined) await loading;
  const { entries, defaultsBytes } = parseBatch(context.request.body, options);
  const room = size.takeEntries(defaultsBytes);
  if (room !== undefined) await room;
  const siblings = context.unit.isRemote ? findSiblings(entries) : [];
  const requests = entries.map((entry, index) =>
    entryRequest(context.request, outer, entry, { memory: size, siblings: siblings[index] }),
  );
  context.unit.expectSeveral();
  await context.authenticate(requests);
  const awaited: WorkAwaited[] = [];
  let turnedAt = performance.now();
  for (const first of requests) {
    if (performance.now() - turnedAt > maxTurnMs) {
      await pause('urgent');
      turnedAt = performance.now();
    }
    const completed = await runEntry(context, first);
    if (completed instanceof WorkAwaited) {
      awaited.push(completed);
      continue;
    }
    // The batch runs again, so this entry only had to show the work that it needs.
    if (awaited.length > 0) continue;
    const { request, response } = completed;
    if (response.status >= 500) return response;
    const { body } = response;
    const pieces = typeof body === 'string' ? [body] : body;
    // These errors end the batch and roll it back.
    try {
      size.requireFittingStored();
      if (isText(pieces)) size.takeResponse(charsOf(pieces));
    } catch (error) {
      context.unit.setRollbackOnly();
      throw error;
    }
    if (!isText(pieces)) {
      context.unit.setRollbackOnly();
      throw invalid('requests', `a batch cannot contain the file at ${request.target}`);
    }
    const shown = formatEntryResponse(request, response, pieces);
    parts.push(parts.length === 0 ? '{"responses":[' : '},', ...shown);
    chars += charsOf(shown);
  }
  if (awaited.length > 0) throw WorkAwaited.all(awaited);
  parts.push(parts.length === 0 ? '{"responses":[]}' : '}]}');
  return { status: 200, headers: {}, body: chars > smallBytes ? parts : parts.join('') };
}

/**
 * Reads a batch and merges the defaults into each entry.
 *
 * @throws ServiceError invalidParameters; no entry of a malformed batch is run
 */
function parseBatch(body: RequestBody, options: BatchOptions): ParsedBatch {
  const value = body.isEmpty ? {} : parseBody(body);
  if (!isJsonObject(value)) throw invalid('', listOfRequests);
  const issues: Issue[] = [];
  const complain = (name: string, description: string): void => void issues.push(issue(name, description));
  const unknown = Object.keys(value).find((key) => key !== 'requests' && key !== 'defaults');
  if (unknown !== undefined) complain('', `unknown member ${quoteText(unknown)}`);
  const defaults = withLowerNames(getKey(value, 'defaults') ?? {}, 'defaults', complain);
  checkEntry(defaults, 'defaults', complain, { ...options, isDefault: true });
  const requests = getKey(value, 'requests');
  if (!Array.isArray(requests)) throw invalidParameters([...issues, issue('requests', listOfRequests)]);
  if (options.maxRequests > 0 && requests.length > options.maxRequests) {
    throw invalidParameters([...issues, issue('requests', `expected at most ${options.maxRequests} requests`)]);
  }
  const defaultsBytes = isJsonObject(defaults) ? jsonWeight(defaults, options.maxBytes) * requests.length : 0;
  requireFitting(body.length + defaultsBytes, options.maxBytes);
  const merged = requests.map((request: JsonValue, index) => {
    const own = withLowerNames(request, `requests.${index}`, complain);
    const whole = isJsonObject(own) && isJsonObject(defaults) ? mergeDefaults(own, defaults) : own;
    checkEntry(whole, `requests.${index}`, complain, { ...options, isDefault: false });
    return whole;
  });
  if (issues.length > 0) throw invalidParameters(issues);
  const entries = merged.map((request) => toEntry(request as JsonObject, options.versionPrefix));
  for (const { target } of entries) {
    const unbatchable = findUnbatchable(target, options.versionPrefix);
    if (unbatchable !== undefined) throw invalid('requests', `a batch cannot contain ${unbatchable}`);
  }
  return { entries, defaultsBytes };
}

function parseBody(body: RequestBody): JsonValue {
  try {
    return body.parse();
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw invalid(error.path ?? '', error.message);
  }
}

function checkEntry(
  value: JsonValue,
  name: string,
  complain: (name: string, text: string) => void,
  { isDefault, maxHeaderBytes }: { readonly isDefault: boolean; readonly maxHeaderBytes: number },
): void {
  if (!isJsonObject(value)) return complain(name, 'expected an object');
  const unknown = Object.keys(value).find((key) => !entryKeys.includes(key));
  if (unknown !== undefined) complain(name, `unknown member ${quoteText(unknown)}`);
  const { path, method, headers, body } = pick(value);
  if (path === undefined ? !isDefault : typeof path !== 'string' || !path.startsWith('/')) {
    complain(`${name}.path`, 'expected a path that starts with a slash');
  }
  if (method !== undefined && !(typeof method === 'string' && methods.includes(method))) {
    complain(`${name}.method`, `expected one of ${methods.join(' ')}`);
  }
  const fault = headers === undefined ? undefined : findHeadersFault(headers, maxHeaderBytes);
  if (fault !== undefined) complain(`${name}.headers`, fault);
  const isPatchList = Array.isArray(body) && typeOf(headers) === 'application/json-patch+json';
  if (body !== undefined && !isJsonObject(body) && !isPatchList) complain(`${name}.body`, 'expected an object');
}

interface Members {
  readonly path: JsonValue | undefined;
  readonly method: JsonValue | undefined;
  readonly headers: JsonValue | undefined;
  readonly body: JsonValue | undefined;
}

function pick(value: JsonObject): Members {
  return {
    path: getKey(value, 'path'),
    method: getKey(value, 'method'),
    headers: getKey(value, 'headers'),
    body: getKey(value, 'body'),
  };
}

function typeOf(headers: JsonValue | undefined): string | undefined {
  const found = isJsonObject(headers) ? getKey(headers, 'content-type') : undefined;
  return typeof found === 'string' ? mediaType(found) : undefined;
}

/** Returns an entry with the names of its headers in lower case, so that they replace defaults in any spelling. */
function withLowerNames(entry: JsonValue, name: string, complain: (name: string, text: string) => void): JsonValue {
  const headers = isJsonObject(entry) ? getKey(entry, 'headers') : undefined;
  if (!isJsonObject(entry) || !isJsonObject(headers)) return entry;
  const lowered: MutableJsonObject = {};
  for (const [key, text] of Object.entries(headers)) {
    const lower = key.toLowerCase();
    if (getKey(lowered, lower) !== undefined)
      complain(`${name}.headers`, `the header ${quoteText(lower)} is given twice`);
    setKey(lowered, lower, text);
  }
  return { ...entry, headers: lowered };
}

/** Merges objects deeply; values of the entry win. */
function mergeDefaults(entry: JsonObject, defaults: JsonObject): JsonObject {
  const names = Object.keys(defaults);
  if (names.length === 0) return entry;
  const merged: MutableJsonObject = { ...entry };
  for (const key of names) {
    const own = getKey(entry, key);
    const byDefault = defaults[key]!;
    if (own === undefined) setKey(merged, key, byDefault);
    else if (isJsonObject(own) && isJsonObject(byDefault)) setKey(merged, key, mergeDefaults(own, byDefault));
  }
  return merged;
}

function toEntry(value: JsonObject, versionPrefix: string): Entry {
  const { path, method, headers, body } = pick(value);
  const target = path as string;
  // Clients may use the version without the path prefix.
  const version = versionPrefix.slice(versionPrefix.lastIndexOf('/'));
  const given = [versionPrefix, version].find((prefix) => target === prefix || target.startsWith(`${prefix}/`)) ?? '';
  return {
    target: versionPrefix + target.slice(given.length),
    method: typeof method === 'string' ? method : 'GET',
    headers: headers as Record<string, string> | undefined,
    body,
  };
}

/** Returns what no batch can hold and the entry asks for, if it does. */
function findUnbatchable(target: string, versionPrefix: string): string | undefined {
  try {
    const { path, query } = parseTarget(target);
    const place = withoutSlashesAtEnd(path, { encoded: true });
    if (place === `${versionPrefix}/batch`) return 'another batch';
    const isLive = place === `${versionPrefix}/live` || query.some(([name]) => name === '_live');
    return isLive ? 'live updates' : undefined;
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** Headers of the batch that entries inherit; most entries have none of their own. */
interface OuterHeaders {
  readonly withBody: RequestHeaders;
  readonly withoutBody: RequestHeaders;
}

const jsonType = 'application/json; charset=utf-8';

function outerHeaders(headers: RequestHeaders): OuterHeaders {
  const { 'content-length': _length, 'content-type': _type, ...withoutBody } = headers;
  return { withBody: { ...withoutBody, 'content-type': jsonType }, withoutBody };
}

function entryRequest(
  request: ServiceRequest,
  outer: OuterHeaders,
  entry: Entry,
  shared: { readonly memory: MemoryAccount; readonly siblings: Siblings | undefined },
): ServiceRequest {
  const body = entry.body === undefined ? RequestBody.none : RequestBody.ofValue(entry.body);
  const inherited = entry.body === undefined ? outer.withoutBody : outer.withBody;
  const headers = entry.headers === undefined ? inherited : mergeHeaders(inherited, entry.headers, entry.body);
  const { origin, clientAddress, id } = request;
  const { method, target } = entry;
  const { memory, siblings } = shared;
  // Literals, because spreads take many times longer.
  return clientAddress === undefined
    ? { method, target, headers, body, origin, id, memory, siblings }
    : { method, target, headers, body, origin, clientAddress, id, memory, siblings };
}

const writing: readonly string[] = ['PUT', 'PATCH', 'DELETE'];

/** Returns, for each entry that writes one object, the objects that entries with its credentials write in the same list. */
function findSiblings(entries: readonly Entry[]): readonly (Siblings | undefined)[] {
  const lists = new Map<string, Siblings>();
  return entries.map(({ method, target, headers }) => {
    const path = writing.includes(method) ? displayPath(target) : '';
    const slash = path.lastIndexOf('/');
    if (slash < 1) return undefined;
    // Each caller has lists of their own at some addresses.
    const list = `${path.slice(0, slash)} ${headers?.['authorization'] ?? ''}`;
    let siblings = lists.get(list);
    if (siblings === undefined) lists.set(list, (siblings = new Siblings()));
    siblings.add(path.slice(slash + 1));
    return siblings;
  });
}

function mergeHeaders(
  inherited: RequestHeaders,
  own: Readonly<Record<string, string>>,
  body: JsonValue | undefined,
): RequestHeaders {
  const { 'content-length': _length, ...headers } = { ...inherited, ...own };
  const asked = own['content-type'];
  const isReplaced = body !== undefined && (asked === undefined || !patchTypes.includes(mediaType(asked)));
  return isReplaced ? { ...headers, 'content-type': jsonType } : headers;
}

function isText(body: Exclude<ResponseBody, string>): body is readonly string[] {
  return Array.isArray(body);
}

function charsOf(pieces: readonly string[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** Formats the response to an entry, in pieces; the closing brace is left out. Joining large pieces would copy them. */
function formatEntryResponse(
  { method, target }: ServiceRequest,
  { status, headers }: ServiceResponse,
  body: readonly string[],
): readonly string[] {
  const isJson = headers['Content-Type'] === 'application/json';
  const shown = method === 'HEAD' || charsOf(body) === 0 ? ['""'] : isJson ? body : [JSON.stringify(body.join(''))];
  const bytes = body.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  const path = formatJson(displayPath(target));
  return [`{"status":${status},"path":${path},"headers":${formatHeaders(headers, bytes)},"body":`, ...shown];
}

function displayPath(target: string): string {
  try {
    return parseTarget(target).path;
  } catch {
    return target.split('?')[0]!;
  }
}

/** Returns a JSON object with the headers and the length of the body. */
function formatHeaders(headers: ResponseHeaders, bodyBytes: number): string {
  const shown: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name]!;
    if (name !== 'Content-Length') shown[name] = typeof value === 'string' ? value : value.join(', ');
  }
  shown['Content-Length'] = String(bodyBytes);
  return JSON.stringify(shown);
}

function issue(name: string, description: string): Issue {
  return { location: 'body', name, description };
}

function invalid(name: string, description: string): ServiceError {
  return invalidParameters([issue(name, description)]);
}
