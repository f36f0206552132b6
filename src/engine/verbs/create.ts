// POST on a list: a new object, under an id of the client's or of the server's choice. An id that exists is answered
// with the object as it is.
import type { JsonValue } from '../../base/json.ts';
import { invalidParameters } from '../../core/errors.ts';
import type { LockedState } from '../../contracts/storage.ts';
import { requireAllowed } from '../access.ts';
import { emptyEnvelope, parseBody, parseEnvelope, splitData } from '../envelope.ts';
import type { ServiceResponse } from '../exchange.ts';
import { createdPermissions } from '../object-permissions.ts';
import { readPreconditions, requireWritable } from '../preconditions.ts';
import { objectResponse } from '../respond.ts';
import { holdParent, requireNoIssues, requireValidId, type Scope } from '../scope.ts';
import type { Writer } from '../session.ts';
import { byRule, lockObject } from './lock.ts';
import { checkData, writeObject } from './write.ts';

/** Creates an object, or answers with the one that has the posted id. */
export async function createObject(scope: Scope): Promise<ServiceResponse> {
  const { kind, context } = scope;
  const { issues, request } = context;
  const body = request.body.isEmpty ? {} : parseBody(request.body, issues);
  const envelope = body === undefined ? emptyEnvelope : parseEnvelope(body, kind.permissions, issues);
  const data = splitData(envelope.data ?? {});
  const sentId = data.id === undefined ? undefined : requireId(scope, data.id);
  const preconditions = readPreconditions(context);
  const attributes = checkData(scope, data, 'data.', issues);

  const id = sentId ?? kind.ids.generate();
  const [writer, state] = sentId === undefined ? await lockList(scope) : await lockPosted(scope, sentId);
  requireWritable(preconditions, state, state.timestamp);
  if (state.object !== undefined) {
    const uri = kind.objectUri({ ...context.ids, [kind.idName]: id });
    const permissions = kind.isShareable ? await writer.permission.getObjectPermissions(uri) : {};
    return objectResponse(scope, 200, state.object, permissions);
  }
  const written = await writeObject(scope, writer, {
    id,
    old: undefined,
    attributes,
    sentTimestamp: data.lastModified,
    permissions: () => createdPermissions(envelope.permissions),
  });
  return objectResponse(scope, 201, written.object, written.permissions);
}

function requireId(scope: Scope, id: JsonValue): string {
  if (typeof id !== 'string') {
    throw invalidParameters([{ location: 'path', name: null, description: 'the id must be a text' }]);
  }
  requireValidId(scope, id);
  return id;
}

async function lockList(scope: Scope): Promise<[Writer, LockedState]> {
  const { kind, context, list } = scope;
  const writer = await context.session.writer();
  await requireAllowed(kind.rules.create, context.caller, writer, context.ids);
  await holdParent(scope, writer);
  requireNoIssues(scope);
  return [writer, await writer.storage.lock(list)];
}

/** An id that exists takes the right to read it: the answer discloses the object. */
function lockPosted(scope: Scope, id: string): Promise<[Writer, LockedState]> {
  const { kind, context } = scope;
  const ids = { ...context.ids, [kind.idName]: id };
  return lockObject(
    scope,
    id,
    byRule(scope, ids, (exists) => (exists ? kind.rules.read : kind.rules.create)),
  );
}
