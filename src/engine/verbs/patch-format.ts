// The three formats of PATCH, each read into one function from the stored object to what the client wants it to be.
import type { JsonObject } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import { ServiceError, type Issue } from '../../core/errors.ts';
import { entryInSteps, type StoredObject } from '../../core/objects/stored.ts';
import { mergePatch, shallowMerge } from '../../core/patch/merge.ts';
import { parseOperations } from '../../core/patch/operations.ts';
import { patchObject } from '../../core/patch/virtual-document.ts';
import { parseBody, parseEnvelope, required, splitData, type SentData } from '../envelope.ts';
import type { RequestBody } from '../exchange.ts';
import { changedPermissions } from '../object-permissions.ts';

/** Media types a PATCH body may have. */
export const patchTypes = ['application/json', 'application/merge-patch+json', 'application/json-patch+json'] as const;

export interface Patched {
  /** Data as the client sent it, for `Response-Behavior`; with JSON Patch the whole result. */
  readonly sent: JsonObject;
  /** Whether the patch is about attributes, as far as its form tells. */
  readonly hasData: boolean;
  /** What the object shall be, not yet checked against the rules of its kind. */
  readonly data: SentData;
  readonly permissions: ObjectPermissions;
}

/** Applies a patch to the object as the caller may see it, and to its stored permissions. */
export type Patch = (shown: StoredObject, permissions: ObjectPermissions) => Steps<Patched>;

/** Reads the body of a PATCH; what is wrong with it is added to the issues, and the patch then has no effect. */
export function* parsePatch(
  type: string,
  body: RequestBody,
  permissionNames: readonly string[],
  issues: Issue[],
): Steps<Patch> {
  if (type === 'application/json-patch+json') return yield* parseJsonPatch(body, permissionNames, issues);
  return yield* parseMerge(body, permissionNames, issues, type === 'application/merge-patch+json');
}

function* parseMerge(body: RequestBody, names: readonly string[], issues: Issue[], isDeep: boolean): Steps<Patch> {
  const value = body.isEmpty ? {} : yield* parseBody(body, issues);
  const before = issues.length;
  const { data, permissions } = value === undefined ? {} : parseEnvelope(value, names, issues);
  if (value !== undefined && data === undefined && permissions === undefined && issues.length === before) {
    issues.push(required('data'));
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
  const value = body.isEmpty ? undefined : yield* parseBody(body, issues);
  if (body.isEmpty) issues.push(required('data'));
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
