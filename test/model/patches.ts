// The three formats of PATCH: endpoints.md §5.3. JSON Patch as far as the generated requests go.
import { Refusal, type Issue } from './exchange.ts';
import { attributesOf, readEnvelope, type SentEntries } from './envelope.ts';
import { isList, isMap, isSame, member, mergeDeep, withMember, type Json, type JsonMap } from './json.ts';
import type { Kind } from './places.ts';
import { entryNames } from './rights.ts';
import type { Entries } from './store.ts';

export interface Patched {
  /** The attributes that the client has sent, as far as the patch shows them: for `Response-Behavior`. */
  readonly sent: JsonMap;
  /** `id` and `last_modified` as they come out, if they do. */
  readonly data: JsonMap;
  readonly attributes: JsonMap;
  readonly entries: Entries;
}

export type Patch = (whole: JsonMap, entries: Entries) => Patched;

/** Reads the body; what is wrong goes to the issues, and what does not fit the object is refused when it is applied. */
export function readPatch(type: string, body: Json | undefined, kind: Kind, issues: Issue[]): Patch {
  if (type === 'application/json-patch+json') {
    return body === undefined ? applyNothing : readOperations(body, kind, issues);
  }
  const before = issues.length;
  const { data, entries } = readEnvelope(body, kind, issues);
  if (data === undefined && entries === undefined && issues.length === before) return applyNothing;
  const isDeep = type === 'application/merge-patch+json';
  return (whole, stored) => {
    const sent = data ?? {};
    // The marks of the server are dropped before anything is merged.
    const marks = ['__permissions__', ...(member(sent, 'deleted') === true ? ['deleted'] : [])];
    const asked = Object.fromEntries(Object.entries(sent).filter(([key]) => !marks.includes(key)));
    const merged = isDeep ? (mergeDeep(whole, asked) as JsonMap) : { ...whole, ...asked };
    // The id cannot be taken away, and a timestamp that was not sent is not asked for.
    const id = isDeep && member(sent, 'id') === null ? whole['id'] : member(merged, 'id');
    const time = typeof member(sent, 'last_modified') === 'number' ? member(sent, 'last_modified') : undefined;
    const wanted = withMember(withMember(merged, 'id', id), 'last_modified', time);
    return {
      sent,
      data: wanted,
      attributes: attributesOf(wanted, kind),
      entries: mergeEntries(stored, entries, isDeep),
    };
  };
}

/** A patch without content is refused after the object and the preconditions were looked at. */
function applyNothing(): never {
  throw new Refusal(400, 107, [{ location: 'body', name: 'data' }]);
}

/** Lists replace; `null` takes away with merge-patch, and is ignored otherwise. */
function mergeEntries(stored: Entries, sent: SentEntries | undefined, isDeep: boolean): Entries {
  const merged = new Map(stored);
  for (const [name, principals] of sent ?? []) {
    if (principals !== null) merged.set(name, new Set(principals));
    else if (isDeep) merged.delete(name);
  }
  return merged;
}

class Impossible extends Error {}

function readOperations(body: Json | undefined, kind: Kind, issues: Issue[]): Patch {
  if (!isList(body)) {
    issues.push(['body', '']);
    return () => ({ sent: {}, data: {}, attributes: {}, entries: new Map() });
  }
  return (whole, stored) => {
    const permissions = Object.fromEntries(
      entryNames[kind]
        .filter((name) => name === 'read' || name === 'write' || stored.has(name))
        .map((name) => [name, setOf([...(stored.get(name) ?? [])])]),
    );
    let document: Json = { data: whole, permissions };
    try {
      for (const operation of body) document = apply(document, operation as JsonMap);
    } catch (error) {
      if (!(error instanceof Impossible)) throw error;
      throw new Refusal(400, 107, [{ location: 'body', name: null }]);
    }
    const data = (member(document as JsonMap, 'data') ?? {}) as JsonMap;
    const sets = (member(document as JsonMap, 'permissions') ?? {}) as JsonMap;
    const entries = new Map(Object.entries(sets).map(([name, set]) => [name, new Set(Object.keys(set as JsonMap))]));
    return { sent: data, data, attributes: attributesOf(data, kind), entries };
  };
}

/** One operation of RFC 6902. */
function apply(document: Json, operation: JsonMap): Json {
  const { op, path, from, value } = operation as Readonly<Record<string, Json | undefined>>;
  const at = pointer(path as string);
  // Principals stand for themselves, whatever value is given.
  const isPrincipal = at[0] === 'permissions' && at.length === 3;
  const isWhole = at[0] === 'permissions' && at.length === 2 && isList(value);
  const given = isPrincipal ? at[2] : isWhole ? setOf(value as readonly string[]) : value;
  switch (op) {
    case 'test':
      if (!isSame(find(document, at), given)) throw new Impossible();
      return document;
    case 'add':
      return change(document, at, given, 'add');
    case 'replace':
      return change(document, at, given, 'replace');
    case 'remove':
      return change(document, at, undefined, 'remove');
    case 'copy':
      return change(document, at, find(document, pointer(from as string)), 'add');
    default: {
      const source = pointer(from as string);
      return change(change(document, source, undefined, 'remove'), at, find(document, source), 'add');
    }
  }
}

/** Principals as keys. */
function setOf(principals: readonly string[]): JsonMap {
  return Object.fromEntries(principals.map((each) => [each, each]));
}

function pointer(text: string): readonly string[] {
  return text
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function find(value: Json, path: readonly string[]): Json {
  let found: Json | undefined = value;
  for (const key of path) {
    found = isMap(found) ? member(found, key) : isList(found) ? found[indexIn(found, key, 0)] : undefined;
    if (found === undefined) throw new Impossible();
  }
  return found;
}

function change(value: Json, [key, ...below]: readonly string[], given: Json | undefined, how: string): Json {
  if (key === undefined) return given ?? null;
  if (isMap(value)) {
    const known = member(value, key);
    if (known === undefined && (below.length > 0 || how !== 'add')) throw new Impossible();
    return withMember(value, key, below.length > 0 ? change(known!, below, given, how) : given);
  }
  if (!isList(value)) throw new Impossible();
  const index = indexIn(value, key, below.length === 0 && how === 'add' ? 1 : 0);
  if (below.length > 0) return value.with(index, change(value[index]!, below, given, how));
  const removed = how === 'add' ? 0 : 1;
  return value.toSpliced(index, removed, ...(given === undefined ? [] : [given]));
}

function indexIn(list: readonly Json[], key: string, room: number): number {
  const index = key === '-' && room === 1 ? list.length : /^(?:0|[1-9]\d*)$/.test(key) ? Number(key) : -1;
  if (index < 0 || index >= list.length + room) throw new Impossible();
  return index;
}
