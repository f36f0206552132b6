// GET and HEAD on an object.
import { runFromNow } from '../../base/steps.ts';
import { entryInSteps } from '../../core/objects/stored.ts';
import { parseParameters } from '../../core/query/parameters.ts';
import { parseFields, project } from '../../core/query/project.ts';
import { requireAllowed } from '../access.ts';
import { announceRead } from '../events/announce.ts';
import type { ServiceResponse } from '../exchange.ts';
import { isUnchanged, readPreconditions, requireMatch } from '../preconditions.ts';
import { askGroupAccessAhead, presentObject } from '../visibility.ts';
import { cacheControl, notModified, objectResponse, partialResponse } from '../respond.ts';
import { missingObject, objectId, requireNoIssues, findAbove, type Scope } from '../scope.ts';
import { requireRoom, roomFor } from '../stored-work.ts';
import { warnOfIgnoredFields } from '../warnings.ts';

/** Returns an object, or the requested fields of it. */
export async function readObject(scope: Scope): Promise<ServiceResponse> {
  const { kind, context, list } = scope;
  const { reader } = context.unit;
  const id = objectId(scope);
  // Read together, because each may be a round trip. The response reveals nothing unless access is granted. A group of the
  // caller may decide whether the permissions are shown.
  const [, object, permissions, byGroup] = await Promise.all([
    requireAllowed(kind.rules.read, context.caller, reader, context.ids),
    reader.storage.get(list, id, roomFor(context, 'show')),
    kind.isShareable ? reader.permission.getObjectPermissions(kind.objectUri(context.ids)) : {},
    askGroupAccessAhead(scope, id),
  ]);
  // An object that exists has a parent. For others a missing parent is reported before all other faults.
  const missing = object === undefined ? (await findAbove(scope, reader)).missing : undefined;
  if (missing !== undefined) throw missing;
  const preconditions = readPreconditions(context);
  const { fields, issues } = parseParameters(context.query, { now: context.now, use: 'object' });
  context.issues.push(...issues);
  requireNoIssues(scope);
  if (object === undefined) throw missingObject(scope, id);
  const warning = warnOfIgnoredFields(context.query);
  const caching = warning === undefined ? await cacheControl(scope) : { ...(await cacheControl(scope)), ...warning };
  if (isUnchanged(preconditions, object.lastModified)) return notModified(object.lastModified, caching);
  const room = requireRoom(context, object, fields === undefined ? 'show' : 'rewrite');
  if (room !== undefined) await room;
  const shown = presentObject(scope, object);
  requireMatch(preconditions, object.lastModified, shown);
  await announceRead(scope, [object]);
  if (fields !== undefined) {
    const reading = runFromNow(entryInSteps(shown), 'normal');
    const value = reading instanceof Promise ? await reading : reading;
    return partialResponse(object.lastModified, project(value, parseFields(fields)), caching);
  }
  return objectResponse(scope, 200, object, permissions, caching, byGroup);
}
