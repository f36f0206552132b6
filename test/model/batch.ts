// `/batch`: several requests as one. endpoints.md §6.
import { Refusal, requireNone, type Ask, type Expected, type Issue, type Reply } from './exchange.ts';
import { isList, isMap, member, withMember, type Json, type JsonMap } from './json.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE'];

/** The requests of a batch. @throws Refusal when it is malformed, and then nothing of it is run */
export function readBatch({ user, headers, body = {} }: Ask, maxRequests: number): readonly Ask[] {
  const issues: Issue[] = [];
  const whole = isMap(body) ? body : {};
  const defaults = member(whole, 'defaults') ?? {};
  const requests = member(whole, 'requests');
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
  const asks = merged.map((entry) => toAsk(entry, user, headers));
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
  const path = member(entry, 'path');
  const isMissing = path === undefined && name !== 'defaults';
  if (isMissing || (path !== undefined && !(typeof path === 'string' && path.startsWith('/')))) {
    issues.push(['body', `${name}.path`]);
  }
  const method = member(entry, 'method');
  if (method !== undefined && !methods.includes(method as string)) issues.push(['body', `${name}.method`]);
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

function toAsk(entry: JsonMap, user: string | undefined, outer: Ask['headers']): Ask {
  const own = Object.entries((member(entry, 'headers') ?? {}) as Readonly<Record<string, string>>);
  const { 'content-type': _dropped, ...inherited } = outer;
  const path = member(entry, 'path') as string;
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
    entries: entries.map((entry, index) => ({ ...entry, path: `/v1${asks[index]!.target.split('?')[0]}` })),
  };
}
