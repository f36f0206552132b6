// Whether an answer of the service is what the model expects. Wording is never compared; ids that the service was free to
// draw are learned when they are first seen.
import { replyIn } from './batch.ts';
import { comparedHeaders, type Expected, type NextPage, type Reply } from './exchange.ts';
import { unseen } from './history.ts';
import { compare, isList, isMap, member, type Json, type JsonMap } from './json.ts';
import { Digits } from './numbers.ts';
import { decodeToken } from './query.ts';

/** Ids by the names that the model has for them. */
export type Seen = Map<string, string>;

/** Everything that differs, each as a sentence. */
export function differences(expected: Expected, reply: Reply, seen: Seen, at = ''): readonly string[] {
  if (expected.status !== reply.status) {
    return [`${at} status: expected ${expected.status}/${expected.errno ?? ''}, got ${reply.status}`];
  }
  if (expected.entries !== undefined) return batchDifferences(expected.entries, reply, seen, at);
  return [
    ...comparedHeaders.flatMap((name) => headerDifference(name, expected, reply, at)),
    ...bodyDifferences(expected, reply, seen, at),
  ];
}

function batchDifferences(
  entries: NonNullable<Expected['entries']>,
  reply: Reply,
  seen: Seen,
  at: string,
): readonly string[] {
  const responses = isMap(reply.body) ? member(reply.body, 'responses') : undefined;
  if (!isList(responses) || responses.length !== entries.length) return [`${at} not as many responses as requests`];
  return entries.flatMap((entry, index) => {
    const own = replyIn(reply, index);
    const place = `${at}[${index}]`;
    const wrongPath =
      own.path === entry.path ? [] : [`${place} path: expected ${entry.path}, got ${JSON.stringify(own.path)}`];
    return [...wrongPath, ...differences(entry, own, seen, place)];
  });
}

function headerDifference(name: string, expected: Expected, { headers }: Reply, at: string): readonly string[] {
  const got = headers[name];
  if (name === 'next-page') return pageDifference(expected.nextPage, got, at);
  const wanted = expected.headers[name];
  if (wanted === got || (wanted === '*' && got !== undefined)) return [];
  return [`${at} ${name}: expected ${wanted ?? 'none'}, got ${got ?? 'none'}`];
}

function pageDifference(wanted: NextPage | undefined, got: string | undefined, at: string): readonly string[] {
  if (wanted === undefined) return got === undefined ? [] : [`${at} next-page: expected none, got ${got}`];
  if (got === undefined) return [`${at} next-page: expected one`];
  const url = new URL(got);
  const query = [...url.searchParams].filter(([name]) => name !== '_token');
  const token = url.searchParams.get('_token');
  const last = token === null ? undefined : decodeToken(token)?.['last_object'];
  const isRight =
    url.pathname === `/v1${wanted.path}` &&
    JSON.stringify(query) === JSON.stringify(wanted.query) &&
    compare(last, wanted.last) === 0;
  return isRight ? [] : [`${at} next-page: expected ${JSON.stringify(wanted)}, got ${got} (${JSON.stringify(last)})`];
}

function bodyDifferences(expected: Expected, { body, status }: Reply, seen: Seen, at: string): readonly string[] {
  if (expected.body === undefined) return body === undefined ? [] : [`${at} expected no body`];
  if (status < 400) return valueDifferences(expected.body, body, seen, `${at}.body`);
  if (!isMap(body)) return [`${at} expected the body of an error`];
  const { code, errno, details } = body as Readonly<Record<string, Json | undefined>>;
  const wrong: string[] = [];
  if (code !== status) wrong.push(`${at} code: expected ${status}, got ${JSON.stringify(code)}`);
  if (errno !== expected.errno) wrong.push(`${at} errno: expected ${expected.errno}, got ${JSON.stringify(errno)}`);
  const wanted = isMap(expected.body) ? member(expected.body, 'details') : undefined;
  return [...wrong, ...valueDifferences(sortIssues(wanted), sortIssues(details), seen, `${at}.details`)];
}

/** Places and names of what is wrong, in any order. */
function sortIssues(details: Json | undefined): Json | undefined {
  if (!isList(details)) return details;
  return details.map((issue) => JSON.stringify([(issue as JsonMap)['location'], (issue as JsonMap)['name']])).sort();
}

function valueDifferences(wanted: Json | undefined, got: Json | undefined, seen: Seen, at: string): readonly string[] {
  if (isList(wanted) && isList(got) && wanted.length === got.length) {
    return wanted.flatMap((value, index) => valueDifferences(value, got[index], seen, `${at}[${index}]`));
  }
  if (isMap(wanted) && isMap(got)) {
    const keys = new Set([...Object.keys(wanted), ...Object.keys(got)]);
    return [...keys].flatMap((key) => {
      const [one, other] = [member(wanted, key), member(got, key)];
      const isSet = key === 'permissions';
      return valueDifferences(isSet ? sorted(one) : one, isSet ? sorted(other) : other, seen, `${at}.${key}`);
    });
  }
  if (
    typeof wanted === 'string' &&
    wanted.startsWith(unseen) &&
    typeof got === 'string' &&
    isNewId(wanted, got, seen)
  ) {
    return [];
  }
  if (compare(wanted, got) === 0 && textOf(wanted) === textOf(got)) return [];
  return [`${at}: expected ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`];
}

/** Principals and permissions have no order. */
function sorted(value: Json | undefined): Json | undefined {
  if (isList(value)) return [...value].sort(compare);
  if (!isMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, list]) => [name, sorted(list)!]));
}

/** Digits come back as they were sent. */
function textOf(value: Json | undefined): string | undefined {
  return value instanceof Digits ? value.text : typeof value === 'number' ? String(value) : undefined;
}

function isNewId(name: string, id: string, seen: Seen): boolean {
  const known = seen.get(name);
  if (known !== undefined) return known === id;
  if ([...seen.values()].includes(id) || !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return false;
  seen.set(name, id);
  return true;
}
