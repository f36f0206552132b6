// `/batch`: several requests as one. endpoints.md §6.
import { pathOf, Refusal, requireNone, type Ask, type Expected, type Issue, type Reply } from './exchange.ts';
import { holdsBadNumber } from './envelope.ts';
import { isList, isMap, member, withMember, type Json, type JsonMap } from './json.ts';

const members = ['method', 'path', 'headers', 'body'];
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE'];

/** The requests of a batch. @throws Refusal when it is malformed, and then nothing of it is run */
export function readBatch(
  { user, headers, body = {} }: Ask,
  maxRequests: number,
  userOf: (authorization: string) => string | undefined,
): readonly Ask[] {
  const issues: Issue[] = [];
  if (holdsBadNumber(body)) requireNone([['body', '']]);
  const whole = isMap(body) ? body : {};
  const defaults = member(whole, 'defaults') ?? {};
  const requests = member(whole, 'requests');
  if (Object.keys(whole).some((key) => key !== 'requests' && key !== 'defaults')) issues.push(['body', '']);
  checkEntry(defaults, 'defaults', issues);
  if (!isList(requests) || requests.length > maxRequests) {
    requireNone([...issues, ['body', 'requests']]);
    return [];
  }
  const merged = requests.map((request, index) => {
    const entry = mergeDefaults(request, defaults);
    checkEntry(entry, `requests.${index}`, issues);
    return entry as JsonMap;
  });
  requireNone(issues);
  const asks = merged.map((entry) => toAsk(entry, user, headers, userOf));
  if (asks.some(({ target }) => target.startsWith('/batch'))) {
    throw new Refusal(400, 107, [{ location: 'body', name: 'requests' }]);
  }
  return asks;
}

function checkEntry(entry: Json, name: string, issues: Issue[]): void {
  if (!isMap(entry)) {
    issues.push(['body', name]);
    return;
  }
  if (Object.keys(entry).some((key) => !members.includes(key))) issues.push(['body', name]);
  const path = member(entry, 'path');
  const isMissing = path === undefined && name !== 'defaults';
  if (isMissing || (path !== undefined && !(typeof path === 'string' && path.startsWith('/')))) {
    issues.push(['body', `${name}.path`]);
  }
  const method = member(entry, 'method');
  if (method !== undefined && !methods.includes(method as string)) issues.push(['body', `${name}.method`]);
  const headers = member(entry, 'headers');
  const areTexts = isMap(headers) && Object.values(headers).every((value) => typeof value === 'string');
  if (headers !== undefined && !areTexts) issues.push(['body', `${name}.headers`]);
  const body = member(entry, 'body');
  const types = isMap(headers) ? Object.entries(headers).filter(([key]) => key.toLowerCase() === 'content-type') : [];
  const isPatch = isList(body) && types.some(([, type]) => type === 'application/json-patch+json');
  if (body !== undefined && !isMap(body) && !isPatch) issues.push(['body', `${name}.body`]);
}

/** What an entry says counts; objects are merged deeply. */
function mergeDefaults(entry: Json, defaults: Json): Json {
  if (!isMap(entry) || !isMap(defaults)) return entry;
  let merged = entry;
  for (const [key, value] of Object.entries(defaults)) {
    const own = member(entry, key);
    merged = withMember(merged, key, own === undefined ? value : mergeDefaults(own, value));
  }
  return merged;
}

function toAsk(
  entry: JsonMap,
  outerUser: string | undefined,
  outer: Ask['headers'],
  userOf: (authorization: string) => string | undefined,
): Ask {
  const own = Object.entries((member(entry, 'headers') ?? {}) as Readonly<Record<string, string>>);
  const { 'content-type': _dropped, ...inherited } = outer;
  const path = member(entry, 'path') as string;
  // The caller of an entry is the one that it names. An entry that names an unknown user is anonymous.
  const authorization = own.find(([name]) => name.toLowerCase() === 'authorization')?.[1];
  const user = authorization === undefined ? outerUser : userOf(authorization);
  return {
    user,
    method: (member(entry, 'method') as string | undefined) ?? 'GET',
    target: path.startsWith('/v1/') ? path.slice('/v1'.length) : path,
    headers: { ...inherited, ...Object.fromEntries(own.map(([name, value]) => [name.toLowerCase(), value])) },
    body: member(entry, 'body'),
  };
}

/** An entry of the answer as if it had been one of its own. */
export function replyIn(outer: Reply, index: number): Reply & { readonly path: Json | undefined } {
  const responses = isMap(outer.body) ? member(outer.body, 'responses') : undefined;
  const entry = isList(responses) ? responses[index] : undefined;
  if (!isMap(entry)) return { status: 0, headers: {}, body: undefined, path: undefined };
  const headers = Object.entries(entry['headers'] as Readonly<Record<string, string>>);
  const body = entry['body'] === '' ? undefined : entry['body'];
  return {
    status: entry['status'] as number,
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
    body,
    path: entry['path'],
  };
}

/** What a batch is to answer. */
export function batchAnswer(asks: readonly Ask[], entries: readonly Expected[]): Expected {
  return {
    status: 200,
    headers: {},
    body: undefined,
    entries: entries.map((entry, index) => ({ ...entry, path: `/v1${pathOf(asks[index]!)}` })),
  };
}
