// JSON Patch on a stored object. The patch applies to a temporary document with the members `data` and `permissions`. Each
// permission is an object keyed by principal, so that each principal has a path. See
// docs/reference/http-api/objects.md#patch.
import { abbreviate } from '../../base/abbreviate.ts';
import { getKey, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';
import { invalidParameters, type ServiceError } from '../errors.ts';
import { toPrincipals, type Principal } from '../permissions/principals.ts';
import { applyOperations } from './json-patch.ts';
import type { Operation } from './operations.ts';

export type PermissionEntries = Readonly<Record<string, readonly Principal[]>>;

export interface PatchTarget {
  /** Attributes in the form for clients, with `id` and `last_modified`. */
  readonly data: JsonObject;
  /** Stored entries, whether or not the caller may see them. */
  readonly permissions: PermissionEntries;
  /** Permission names of the kind; empty for kinds without permissions. */
  readonly permissionNames: ReadonlySet<string>;
}

export interface PatchResult {
  readonly data: JsonObject;
  /** Principals of the changed permissions only; an empty list removes the permission. */
  readonly permissions: PermissionEntries;
}

/**
 * Applies a JSON patch to an object and its permissions.
 *
 * @throws ServiceError invalidParameters when an operation fails or the result is not an object with permissions
 */
export function* patchObject(target: PatchTarget, operations: readonly Operation[]): Steps<PatchResult> {
  const { permissionNames } = target;
  for (const operation of operations) requireKnownTarget(operation, permissionNames);
  const before = permissionsValue(target);
  const document = yield* applyOperations(
    { data: target.data, permissions: before },
    operations.map((operation) => completeOperation(operation, permissionNames)),
    (path, value) => adoptValue(path, value, permissionNames),
  );
  const data = isJsonObject(document) ? (getKey(document, 'data') ?? {}) : {};
  if (!isJsonObject(data)) throw refusal('data', 'expected an object');
  const after = isJsonObject(document) ? getKey(document, 'permissions') : undefined;
  return { data, permissions: changedPermissions(before, isJsonObject(after) ? after : {}) };
}

/** Returns the permissions with every name of the kind, so that a first principal can be added to any of them. */
function permissionsValue({ permissions, permissionNames }: PatchTarget): JsonObject {
  const names = new Set([...permissionNames, ...Object.keys(permissions)]);
  return Object.fromEntries(
    [...names].map((name) => [name, keyedByPrincipal(Object.hasOwn(permissions, name) ? permissions[name]! : [])]),
  );
}

function keyedByPrincipal(principals: readonly string[]): JsonObject {
  return Object.fromEntries(principals.map((principal) => [principal, principal]));
}

function requireKnownTarget({ op, path }: Operation, names: ReadonlySet<string>): void {
  const [root, name] = path;
  if (root !== 'permissions' || name === undefined || op === 'test' || op === 'remove') return;
  requireKnownName(name, names);
}

function requireKnownName(name: string, names: ReadonlySet<string>): void {
  if (!names.has(name)) throw refusal('permissions', `unknown permission ${abbreviate(name)} here`);
}

/**
 * Completes operations on permissions: the value of a principal is optional, and the removal of a whole permission empties
 * it, because a permission always exists.
 */
function completeOperation(operation: Operation, names: ReadonlySet<string>): Operation {
  const { op, path } = operation;
  if (path[0] !== 'permissions') return operation;
  const principal = path.length === 3 ? path[2]! : undefined;
  if (principal !== undefined && (op === 'add' || op === 'replace' || op === 'test') && operation.value === undefined) {
    return { ...operation, value: principal };
  }
  const isWhole = path.length === 1 || (path.length === 2 && names.has(path[1]!));
  return op === 'remove' && isWhole ? { op: 'replace', path, value: {} } : operation;
}

/** Converts values below `permissions` to the one form that paths of later operations rely on. */
function adoptValue(path: readonly string[], value: JsonValue, names: ReadonlySet<string>): JsonValue {
  const [root, name, principal] = path;
  if (root !== 'permissions') return value;
  if (name === undefined) return adoptAll(value, names);
  if (principal === undefined) return keyedByPrincipal(readPrincipals(name, value));
  if (path.length === 3) requirePrincipal(name, principal);
  return principal;
}

function adoptAll(value: JsonValue, names: ReadonlySet<string>): JsonObject {
  if (!isJsonObject(value)) throw refusal('permissions', 'expected an object');
  for (const name of Object.keys(value)) requireKnownName(name, names);
  return Object.fromEntries(
    [...names].map((name) => [name, keyedByPrincipal(readPrincipals(name, getKey(value, name) ?? {}))]),
  );
}

/** Returns the principals in a list, or the keys of an object. */
function readPrincipals(name: string, value: JsonValue): readonly string[] {
  if (isJsonObject(value)) return Object.keys(value).map((key) => requirePrincipal(name, key));
  if (!Array.isArray(value)) throw refusal(`permissions.${name}`, 'expected a list of principals');
  return (value as readonly JsonValue[]).map((item, index) => requirePrincipal(`${name}.${index}`, item));
}

function requirePrincipal(name: string, value: JsonValue): string {
  if (typeof value !== 'string' || value === '') throw refusal(`permissions.${name}`, 'expected a principal');
  return value;
}

function changedPermissions(before: JsonObject, after: JsonObject): PermissionEntries {
  const changed: [string, readonly Principal[]][] = [];
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const old = principalsOf(getKey(before, name));
    const now = principalsOf(getKey(after, name));
    const isSame = old.length === now.length && new Set([...old, ...now]).size === old.length;
    if (!isSame) changed.push([name, now]);
  }
  return Object.fromEntries(changed);
}

function principalsOf(value: JsonValue | undefined): readonly Principal[] {
  return isJsonObject(value) ? toPrincipals(Object.keys(value)) : [];
}

function refusal(name: string, description: string): ServiceError {
  return invalidParameters([{ location: 'body', name, description }]);
}
