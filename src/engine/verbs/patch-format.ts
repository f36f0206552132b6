// The three formats of PATCH. Each is parsed into a function from the stored object to the object that the client wants.
import type { JsonObject } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import { invalidParameters, ServiceError, type Issue } from '../../core/errors.ts';
import { entryInSteps, type StoredObject } from '../../core/objects/stored.ts';
import { mergePatch, shallowMerge } from '../../core/patch/merge.ts';
import { parseOperations } from '../../core/patch/operations.ts';
import { patchObject } from '../../core/patch/object-patch.ts';
import type { CompiledKind } from '../compiled-kind.ts';
import { parseBody, parseEnvelope, splitData, type SentData } from '../envelope.ts';
import type { RequestBody } from '../exchange.ts';
import { changedPermissions } from '../object-permissions.ts';

/** Accepted media types of a PATCH body. */
export const patchTypes = ['application/json', 'application/merge-patch+json', 'application/json-patch+json'] as const;

export interface Patched {
  /** Data as sent, for `Response-Behavior`; for a JSON Patch, the whole result. */
  readonly sent: JsonObject;
  /** Whether the patch may change attributes, judged by its form. */
  readonly hasData: boolean;
  /** The object after the patch, not yet checked against the rules of its kind. */
  readonly data: SentData;
  readonly permissions: ObjectPermissions;
}

/** Applies a patch to the object as the caller may see it, and to its stored permissions. */
export type Patch = (shown: StoredObject, permissions: ObjectPermissions) => Steps<Patched>;

type PatchedKind = Pick<CompiledKind, 'permissions' | 'declaration'>;

/**
 * Parses the body of a PATCH. Faults go to the issues, and the patch then has no effect. A patch without content fails when
 * it is applied, because a missing object and failed preconditions are reported first.
 */
export function* parsePatch(type: string, body: RequestBody, kind: PatchedKind, issues: Issue[]): Steps<Patch> {
  if (type === 'application/json-patch+json') {
    return body.isEmpty ? applyNothing : yield* parseJsonPatch(body, kind.permissions, issues);
  }
  return yield* parseMerge(body, kind, issues, type === 'application/merge-patch+json');
}

/** @throws ServiceError invalidParameters always */
function applyNothing(): never {
  const description =
    'send "data" or "permissions" or both, such as {"data": {"title": "New"}}; JSON Patch takes a list of operations';
  throw invalidParameters([{ location: 'body', name: 'data', description }]);
}

function* parseMerge(
  body: RequestBody,
  { permissions: names, declaration }: PatchedKind,
  issues: Issue[],
  isDeep: boolean,
): Steps<Patch> {
  const value = body.isEmpty ? {} : yield* parseBody(body, issues);
  const before = issues.length;
  if (Array.isArray(value)) {
    const description = 'expected a JSON object; a list of operations needs Content-Type: application/json-patch+json';
    issues.push({ location: 'body', name: '', description });
  }
  const { data, permissions } =
    value === undefined || Array.isArray(value) ? {} : parseEnvelope(value, names, issues, declaration.hiddenFields);
  if (value !== undefined && data === undefined && permissions === undefined && issues.length === before) {
    return applyNothing;
  }
  const sent = yield* splitData(data ?? {});
  const merge = isDeep ? mergePatch : shallowMerge;
  return function* apply(shown, storedPermissions) {
    const { attributes } = yield* splitData(yield* shown.read());
    return {
      sent: data ?? {},
      hasData: data !== undefined,
      data: {
        id: isDeep && sent.id === null ? undefined : sent.id,
        lastModified: sent.lastModified,
        attributes: yield* merge(attributes, sent.attributes),
      },
      permissions: changedPermissions(storedPermissions, permissions ?? {}, isDeep ? 'remove' : 'ignore'),
    };
  };
}

function* parseJsonPatch(body: RequestBody, names: readonly string[], issues: Issue[]): Steps<Patch> {
  const value = yield* parseBody(body, issues);
  const permissionNames = new Set(names);
  try {
    const operations = value === undefined ? [] : parseOperations(value);
    return function* apply(shown, storedPermissions) {
      const data = yield* entryInSteps(shown);
      const result = yield* patchObject({ data, permissions: storedPermissions, permissionNames }, operations);
      const permissions = changedPermissions(storedPermissions, result.permissions, 'ignore');
      return { sent: result.data, hasData: true, data: yield* splitData(result.data), permissions };
    };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    issues.push(...(error.details as Issue[]));
    return function* apply(shown, permissions) {
      return { sent: {}, hasData: false, data: yield* splitData(yield* shown.read()), permissions };
    };
  }
}
