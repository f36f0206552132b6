// Bodies of requests, `{data, permissions}`: overview.md §2.
import type { Issue } from './exchange.ts';
import { isList, isMap, member, withMember, type Json, type JsonMap } from './json.ts';
import type { Kind } from './places.ts';
import { isBeyondNumbers } from './numbers.ts';
import { entryNames, everyone } from './rights.ts';
import { isSchema, schemaNames } from './schemas.ts';

/** A list of principals, or `null`, by name. */
export type SentEntries = ReadonlyMap<string, readonly string[] | null>;

export interface Envelope {
  readonly data: JsonMap | undefined;
  readonly entries: SentEntries | undefined;
}

/** Reads a body; what is wrong goes to the issues. */
export function readEnvelope(body: Json | undefined, kind: Kind, issues: Issue[]): Envelope {
  if (body === undefined) return { data: undefined, entries: undefined };
  if (!isMap(body) || holdsBadNumber(body)) {
    issues.push(['body', '']);
    return { data: undefined, entries: undefined };
  }
  if (Object.keys(body).some((key) => key !== 'data' && key !== 'permissions')) issues.push(['body', '']);
  const data = member(body, 'data');
  if (data !== undefined && !isMap(data)) issues.push(['body', 'data']);
  const permissions = member(body, 'permissions');
  return {
    data: isMap(data) ? data : undefined,
    entries: permissions === undefined ? undefined : readEntries(permissions, kind, issues),
  };
}

/** Numbers without end are no JSON. */
export function holdsBadNumber(value: Json): boolean {
  if (isMap(value)) return Object.values(value).some(holdsBadNumber);
  return isList(value) ? value.some(holdsBadNumber) : isBeyondNumbers(value);
}

function readEntries(permissions: Json, kind: Kind, issues: Issue[]): SentEntries | undefined {
  if (!isMap(permissions)) {
    issues.push(['body', 'permissions']);
    return undefined;
  }
  if (Object.keys(permissions).some((name) => !entryNames[kind].includes(name))) issues.push(['body', 'permissions']);
  const entries = new Map<string, readonly string[] | null>();
  for (const name of entryNames[kind]) {
    const principals = member(permissions, name);
    if (principals === undefined) continue;
    if (principals === null) entries.set(name, null);
    else if (!isList(principals)) issues.push(['body', `permissions.${name}`]);
    else {
      for (const [index, principal] of principals.entries()) {
        if (typeof principal !== 'string' || principal === '') issues.push(['body', `permissions.${name}.${index}`]);
      }
      entries.set(
        name,
        principals.filter((principal) => typeof principal === 'string'),
      );
    }
  }
  return entries;
}

/** The attributes that a client decides about, completed as the kind wants it. */
export function attributesOf(data: JsonMap, kind: Kind): JsonMap {
  const marks = ['id', 'last_modified', '__permissions__', ...(member(data, 'deleted') === true ? ['deleted'] : [])];
  const kept: JsonMap = Object.fromEntries(Object.entries(data).filter(([key]) => !marks.includes(key)));
  return kind === 'group' && member(kept, 'members') === undefined ? withMember(kept, 'members', []) : kept;
}

/** What is wrong with the attributes of a kind: permissions.md §2. */
export function checkAttributes(data: JsonMap, kind: Kind, prefix: string, issues: Issue[]): void {
  for (const name of schemaNames[kind]) {
    const schema = member(data, name);
    if (schema !== undefined && !(isMap(schema) && isSchema(schema))) issues.push(['body', prefix + name]);
  }
  const members = member(data, 'members');
  if (kind !== 'group' || members === undefined) return;
  if (!isList(members)) {
    issues.push(['body', `${prefix}members`]);
    return;
  }
  for (const [index, id] of members.entries()) {
    const isGood = typeof id === 'string' && id !== '' && id !== everyone && !id.startsWith('/buckets/');
    if (!isGood) issues.push(['body', `${prefix}members.${index}`]);
  }
}

/** The timestamp that a client may choose: overview.md §3.3. */
export function chosenTime(data: JsonMap | undefined, current: number | undefined): number | undefined {
  const given = data === undefined ? undefined : member(data, 'last_modified');
  if (typeof given !== 'number' || !Number.isInteger(given) || given < 0) return undefined;
  return current !== undefined && given <= current ? undefined : given;
}
