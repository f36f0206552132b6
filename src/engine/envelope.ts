// Request bodies of resources: `{data, permissions}`. All faults are collected, so that one response reports them.
import { describeType } from '../base/abbreviate.ts';
import { getKey, isJsonObject, JsonSyntaxError } from '../base/json.ts';
import type { JsonObject, JsonValue, MutableJsonObject } from '../base/json.ts';
import { copyMembers } from '../base/json-steps.ts';
import type { Steps } from '../base/steps.ts';
import type { Issue } from '../core/errors.ts';
import { toPrincipal, type Principal } from '../core/permissions/principals.ts';
import { describeUnknownMembers } from './envelope-advice.ts';
import type { RequestBody } from './exchange.ts';
import type { Scope } from './scope.ts';

/** Permissions as sent. A list replaces an entry; the meaning of `null` depends on the format of the request. */
export type SentPermissions = Readonly<Record<string, readonly Principal[] | null>>;

export interface Envelope {
  readonly data: JsonObject | undefined;
  readonly permissions: SentPermissions | undefined;
}

const emptyEnvelope: Envelope = { data: undefined, permissions: undefined };

/**
 * Parses a body that is not empty. Returns `undefined` when it is not JSON or holds values that storage cannot keep; the
 * fault goes to the issues.
 */
export function* parseBody(body: RequestBody, issues: Issue[]): Steps<JsonValue | undefined> {
  try {
    return yield* body.read();
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    issues.push({ location: 'body', name: error.path ?? '', description: error.message });
    return undefined;
  }
}

/**
 * Reads the envelope without its faulty parts. The faults go to the issues.
 *
 * @param secret names of attributes whose values issues do not show
 */
export function parseEnvelope(
  value: JsonValue,
  permissionNames: readonly string[],
  issues: Issue[],
  secret?: readonly string[],
): Envelope {
  if (!isJsonObject(value)) {
    const description = `expected a JSON object such as {"data": {…}}, not ${describeType(value)}`;
    issues.push({ location: 'body', name: '', description });
    return emptyEnvelope;
  }
  const unknown = Object.keys(value).filter((key) => key !== 'data' && key !== 'permissions');
  if (unknown.length > 0) {
    issues.push({ location: 'body', name: '', description: describeUnknownMembers(value, unknown, secret) });
  }
  const data = getKey(value, 'data');
  const permissions = getKey(value, 'permissions');
  if (data !== undefined && !isJsonObject(data)) {
    issues.push({ location: 'body', name: 'data', description: `expected an object, not ${describeType(data)}` });
  }
  return {
    data: isJsonObject(data) ? data : undefined,
    permissions: permissions === undefined ? undefined : parsePermissions(permissions, permissionNames, issues),
  };
}

function parsePermissions(value: JsonValue, names: readonly string[], issues: Issue[]): SentPermissions | undefined {
  if (!isJsonObject(value) || names.length === 0) {
    const description = names.length === 0 ? 'objects of this kind have no permissions' : 'expected an object';
    issues.push({ location: 'body', name: 'permissions', description });
    return undefined;
  }
  const unknown = Object.keys(value).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    const listed = JSON.stringify(unknown.slice(0, 10));
    issues.push({
      location: 'body',
      name: 'permissions',
      description: `unknown permissions: ${listed}. Allowed: ${names.join(', ')}`,
    });
  }
  const sent: Record<string, readonly Principal[] | null> = {};
  for (const name of names) {
    const principals = getKey(value, name);
    if (principals === undefined) continue;
    if (principals === null) sent[name] = null;
    else if (!Array.isArray(principals)) {
      issues.push({ location: 'body', name: `permissions.${name}`, description: 'expected a list of principals' });
    } else sent[name] = parsePrincipals(principals, name, issues);
  }
  return sent;
}

/** Maximum number of faults reported for one list: a million would make the response larger than the request. */
const maxFaults = 100;

function parsePrincipals(values: readonly JsonValue[], name: string, issues: Issue[]): readonly Principal[] {
  const principals = new Set<Principal>();
  let faults = 0;
  for (const [index, value] of values.entries()) {
    if (typeof value === 'string' && value !== '') principals.add(toPrincipal(value));
    else {
      const description = 'expected a text that is not empty';
      issues.push({ location: 'body', name: `permissions.${name}.${index}`, description });
      if (++faults === maxFaults) break;
    }
  }
  return [...principals];
}

/** Data as sent, split into attributes and members with a meaning of their own. */
export interface SentData {
  readonly id: JsonValue | undefined;
  readonly lastModified: JsonValue | undefined;
  readonly attributes: JsonObject;
}

/** Splits off `id` and `last_modified`, and drops members that only the server sets. */
export function* splitData(data: JsonObject): Steps<SentData> {
  const id = getKey(data, 'id');
  const lastModified = getKey(data, 'last_modified');
  const isPlain =
    id === undefined &&
    lastModified === undefined &&
    !Object.hasOwn(data, '__permissions__') &&
    getKey(data, 'deleted') !== true;
  if (isPlain) return { id, lastModified, attributes: data };
  const attributes: MutableJsonObject = {};
  yield* copyMembers(data, attributes, isOfServer);
  return { id, lastModified, attributes };
}

function isOfServer(key: string, value: JsonValue): boolean {
  return key === 'id' || key === 'last_modified' || key === '__permissions__' || (key === 'deleted' && value === true);
}

/** Reads the body of a request that creates or replaces an object. Faults go to the issues. */
export function* readEnvelope({
  kind,
  context: { request, issues },
}: Scope): Steps<{ readonly envelope: Envelope; readonly data: SentData }> {
  const body = request.body.isEmpty ? {} : yield* parseBody(request.body, issues);
  const envelope =
    body === undefined ? emptyEnvelope : parseEnvelope(body, kind.permissions, issues, kind.declaration.hiddenFields);
  return { envelope, data: yield* splitData(envelope.data ?? {}) };
}

/** Creates the issue for a missing member, with advice on what to send. */
export function required(name: string, advice: string): Issue {
  return { location: 'body', name, description: `Required: ${advice}` };
}
