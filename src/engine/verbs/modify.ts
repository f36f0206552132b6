// PATCH on an object: change some of its attributes or permissions.
import { getKey, setKey, type JsonObject, type MutableJsonObject } from '../../base/json.ts';
import { invalidParameters, ServiceError } from '../../core/errors.ts';
import { entryValue, type StoredObject } from '../../core/objects/stored.ts';
import { equalValues } from '../../core/query/compare.ts';
import type { Context } from '../context.ts';
import { mediaType, type ServiceResponse } from '../exchange.ts';
import { presentObject } from '../ownership.ts';
import { readPreconditions, requireMatch } from '../preconditions.ts';
import { objectResponse, partialResponse } from '../respond.ts';
import { missingObject, objectId, type Scope } from '../scope.ts';
import { beginWrite, forChange } from './begin-write.ts';
import { parsePatch, type Patch } from './patch-format.ts';
import { checkData, prepareWrite, requireSameId, writeObject } from './write.ts';

type Behavior = 'full' | 'light' | 'diff';

/** Changes an existing object by a patch in one of the three formats. */
export async function modifyObject(scope: Scope): Promise<ServiceResponse> {
  const { kind, context } = scope;
  const { issues, request } = context;
  const id = objectId(scope);
  const preconditions = readPreconditions(context);
  const behavior = readBehavior(context);
  const type = mediaType(request.headers['content-type'] ?? 'application/json');
  const begun = await beginWrite(scope, {
    id,
    action: 'update',
    authorize: forChange(scope),
    expects: [true],
    readsPermissions: true,
    check: () => parsePatch(type, request.body, kind.permissions, issues),
    prepare: (patch, object) => (object === undefined ? undefined : prepare(scope, patch, object)),
  });
  const { writer, state, checked: patch } = begun;
  const old = state.object;
  if (old === undefined) throw missingObject(scope, id);
  const shown = presentObject(scope, old);
  requireMatch(preconditions, old.lastModified, shown);

  const uri = kind.objectUri(context.ids);
  const { permission } = writer ?? context.session.reader;
  const stored = begun.permissions ?? (kind.isShareable ? await permission.getObjectPermissions(uri) : {});
  const before = entryValue(shown);
  const patched = patch(before, stored);
  requireSameId(patched.data.id, id);
  const attributes = checkData(scope, patched.data, '', issues);
  if (issues.length > 0) throw invalidParameters(issues);

  const { object, permissions } = await writeObject(scope, writer, {
    id,
    old,
    stored,
    clock: state.timestamp,
    attributes,
    sentTimestamp: patched.data.lastModified,
    permissions: () => patched.permissions,
  });
  if (behavior === 'full') return objectResponse(scope, 200, object, permissions);
  return partialResponse(
    object.lastModified,
    trim(behavior, patched.sent, before, entryValue(presentObject(scope, object))),
  );
}

/** Tries the patch out, for the kind's slow work. What is wrong with it is told when it is applied in earnest. */
async function prepare(scope: Scope, patch: Patch, object: StoredObject): Promise<void> {
  const { kind, context } = scope;
  if (kind.declaration.prepareWrite === undefined) return;
  const { permission } = context.session.reader;
  const stored = kind.isShareable ? await permission.getObjectPermissions(kind.objectUri(context.ids)) : {};
  let attributes: JsonObject;
  try {
    ({ attributes } = patch(entryValue(presentObject(scope, object)), stored).data);
  } catch (error) {
    if (error instanceof ServiceError) return;
    throw error;
  }
  await prepareWrite(scope, { id: objectId(scope), old: object, attributes });
}

function readBehavior({ request, issues }: Context): Behavior {
  const value = request.headers['response-behavior'] ?? 'full';
  if (value === 'full' || value === 'light' || value === 'diff') return value;
  issues.push({ location: 'header', name: 'Response-Behavior', description: 'expected full, light or diff' });
  return 'full';
}

/** `light`: what the request changed; `diff`: what came out otherwise than sent. Only of the attributes sent. */
function trim(behavior: Behavior, sent: JsonObject, before: JsonObject, after: JsonObject): JsonObject {
  const reference = behavior === 'light' ? before : sent;
  const trimmed: MutableJsonObject = {};
  for (const key of Object.keys(sent)) {
    const value = getKey(after, key);
    if (value !== undefined && !equalValues(value, getKey(reference, key))) setKey(trimmed, key, value);
  }
  return trimmed;
}
