// PATCH on an object: changes some of its attributes or permissions.
import { getKey, setKey, type JsonObject, type MutableJsonObject } from '../../base/json.ts';
import { StepBudget } from '../../base/json-steps.ts';
import { runFromNow, type Steps } from '../../base/steps.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import { invalidParameters, ServiceError, type Issue } from '../../core/errors.ts';
import { entryInSteps, isSameObject, type StoredObject } from '../../core/objects/stored.ts';
import { equalInSteps } from '../../core/query/compare.ts';
import type { Context } from '../context.ts';
import { mediaType, type ServiceResponse } from '../exchange.ts';
import { presentObject } from '../visibility.ts';
import { readPreconditions, requireMatch } from '../preconditions.ts';
import { objectResponse, partialResponse } from '../respond.ts';
import { missingObject, objectId, type Scope } from '../scope.ts';
import { beginWrite, forChange } from '../begin-write.ts';
import { takeLargeObjectTurn } from '../large-object-turns.ts';
import { parsePatch, type Patch, type Patched } from './patch-format.ts';
import { checkData, prepareWrite, requireSameId, writeObject } from '../write-object.ts';

type Behavior = 'full' | 'light' | 'diff';

/** Changes an existing object by a patch in one of the three formats. */
export async function modifyObject(scope: Scope): Promise<ServiceResponse> {
  const { kind, context } = scope;
  const { issues, request } = context;
  const id = objectId(scope);
  const preconditions = readPreconditions(context);
  const behavior = readBehavior(context);
  const type = mediaType(request.headers['content-type'] ?? 'application/json');
  let ahead: Modified | undefined;
  const begun = await beginWrite(scope, {
    id,
    action: 'update',
    authorize: forChange(scope),
    expects: [true],
    rewrites: true,
    readsPermissions: true,
    check: () => runFromNow(parsePatch(type, request.body, kind, issues), 'normal'),
    prepare: async (patch, object) => {
      if (object !== undefined) ahead = await modifyAhead(scope, patch, object);
    },
  });
  const { state, checked: patch } = begun;
  const old = state.object;
  if (old === undefined) throw missingObject(scope, id);
  const shown = presentObject(scope, old);
  requireMatch(preconditions, old.lastModified, shown);

  const stored = begun.permissions ?? {};
  const isAsAhead = ahead !== undefined && isSameObject(ahead.old, old) && isSamePermissions(ahead.stored, stored);
  const modifying = isAsAhead ? ahead! : runFromNow(modify(scope, patch, old, stored), 'urgent');
  const { patched, attributes } = modifying instanceof Promise ? await modifying : modifying;
  const { object, permissions } = await writeObject(scope, begun, {
    id,
    old,
    stored,
    clock: state.timestamp,
    attributes,
    sentTimestamp: patched.data.lastModified,
    permissions: () => patched.permissions,
  });
  // The response may show less than the patched object, so its growth is counted here.
  if (object.text.length > old.text.length) context.request.memory?.takeStored(object.text.length - old.text.length);
  if (behavior === 'full') return objectResponse(scope, 200, object, permissions);
  const trimming = runFromNow(trim(behavior, patched.sent, shown, presentObject(scope, object)), 'urgent');
  return partialResponse(object.lastModified, trimming instanceof Promise ? await trimming : trimming);
}

/** The result of a patch on an object and its permissions. */
interface Modified {
  readonly old: StoredObject;
  readonly stored: ObjectPermissions;
  readonly patched: Patched;
  readonly attributes: JsonObject;
}

/**
 * Applies a patch and checks the result.
 *
 * @throws ServiceError when the patch does not fit the object, or its kind does not allow the result
 */
function* modify(scope: Scope, patch: Patch, old: StoredObject, stored: ObjectPermissions): Steps<Modified> {
  const patched = yield* patch(presentObject(scope, old), stored);
  requireSameId(patched.data.id, old.id);
  const issues: Issue[] = [];
  const { hasData } = patched;
  const attributes = yield* checkData(scope, patched.data, { prefix: '', hasData, isStored: !hasData }, issues);
  if (issues.length > 0) throw invalidParameters(issues);
  return { old, stored, patched, attributes };
}

/**
 * Applies a patch before the list is locked, if that may take long. Faults are reported when it is applied under the lock.
 *
 * @throws StaleState when another request has just changed the large object
 */
async function modifyAhead(scope: Scope, patch: Patch, old: StoredObject): Promise<Modified | undefined> {
  const { kind, context } = scope;
  const isLarge = old.isLarge || context.request.body.isLarge;
  if (kind.declaration.prepareWrite === undefined && !isLarge) return undefined;
  const uri = kind.objectUri(context.ids);
  if (isLarge) await takeLargeObjectTurn(uri, context);
  const { permission } = context.unit.reader;
  const stored = kind.isShareable ? await permission.getObjectPermissions(uri) : {};
  try {
    const modified = await runFromNow(modify(scope, patch, old, stored), 'normal');
    await prepareWrite(scope, { id: objectId(scope), old, attributes: modified.attributes }, isLarge);
    return modified;
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

function isSamePermissions(a: ObjectPermissions, b: ObjectPermissions): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function readBehavior({ request, issues }: Context): Behavior {
  const value = request.headers['response-behavior'] ?? 'full';
  if (value === 'full' || value === 'light' || value === 'diff') return value;
  issues.push({ location: 'header', name: 'Response-Behavior', description: 'expected full, light or diff' });
  return 'full';
}

/** Returns those of the sent attributes that changed (`light`), or that differ from what was sent (`diff`). */
function* trim(behavior: Behavior, sent: JsonObject, before: StoredObject, after: StoredObject): Steps<JsonObject> {
  const now = yield* entryInSteps(after);
  const reference = behavior === 'light' ? yield* entryInSteps(before) : sent;
  const trimmed: MutableJsonObject = {};
  const budget = new StepBudget();
  for (const key of Object.keys(sent)) {
    const value = getKey(now, key);
    if (value !== undefined && !(yield* equalInSteps(value, getKey(reference, key), budget))) {
      setKey(trimmed, key, value);
    }
  }
  return trimmed;
}
