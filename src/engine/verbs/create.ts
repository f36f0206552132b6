// POST on a list: creates an object under an id that the client or the service chooses. If the id exists, the response
// shows the object unchanged.
import type { JsonValue } from '../../base/json.ts';
import { runFromNow } from '../../base/steps.ts';
import { invalidParameters } from '../../core/errors.ts';
import type { ObjectId } from '../../core/objects/object-id.ts';
import { readEnvelope, required } from '../envelope.ts';
import { announceRead } from '../events/announce.ts';
import type { ServiceResponse } from '../exchange.ts';
import { createdPermissions } from '../object-permissions.ts';
import { presentState, requireOwnId } from '../visibility.ts';
import { readPreconditions, requireWritable } from '../preconditions.ts';
import { objectResponse } from '../respond.ts';
import { idsWith, refusedId, type Scope } from '../scope.ts';
import { warnOfEmptyBody } from '../warnings.ts';
import { beginWrite, byRule } from '../begin-write.ts';
import { checkData, prepareWrite, writeObject } from '../write-object.ts';

/** Creates an object, or returns the one that has the posted id. */
export async function createObject(scope: Scope): Promise<ServiceResponse> {
  const { kind, context } = scope;
  const { issues, request } = context;
  const reading = runFromNow(readEnvelope(scope), 'normal');
  const { envelope, data } = reading instanceof Promise ? await reading : reading;
  const sentId = data.id === undefined ? undefined : requireId(scope, data.id);
  if (kind.declaration.ownerOf !== undefined) {
    if (sentId === undefined && issues.length === 0) {
      throw invalidParameters([required('data.id', 'choose an id, as in {"data": {"id": "alice"}}')]);
    }
    if (sentId !== undefined) requireOwnId(scope, sentId);
  }
  const preconditions = readPreconditions(context);
  const id = sentId ?? kind.ids.generate();
  const ids = idsWith(scope, id);
  const begun = await beginWrite(scope, {
    id: sentId,
    action: 'update',
    // For an id that exists the caller needs the right to read, because the response shows the object.
    authorize: byRule(scope, ids, (exists) => (exists ? kind.rules.read : kind.rules.create)),
    expects: sentId === undefined ? [false] : [false, true],
    check: () =>
      runFromNow(checkData(scope, data, { prefix: 'data.', hasData: envelope.data !== undefined }, issues), 'normal'),
    prepare: (attributes, old) =>
      old === undefined ? prepareWrite(scope, { id, old, attributes }, request.body.isLarge) : undefined,
  });
  const { state, checked: attributes } = begun;
  requireWritable(preconditions, presentState(scope, state), state.timestamp);
  if (state.object !== undefined) {
    const { permission } = begun.reader;
    const permissions = kind.isShareable ? await permission.getObjectPermissions(kind.objectUri(ids)) : {};
    await announceRead(scope, [state.object], state.timestamp);
    return objectResponse(scope, 200, state.object, permissions);
  }
  const written = await writeObject(scope, begun, {
    id,
    isIdGenerated: sentId === undefined,
    old: undefined,
    clock: state.timestamp,
    attributes,
    sentTimestamp: data.lastModified,
    permissions: () => createdPermissions(envelope.permissions),
  });
  const warning = request.body.isEmpty ? warnOfEmptyBody(kind.name) : undefined;
  return objectResponse(scope, 201, written.object, written.permissions, warning);
}

function requireId({ kind }: Scope, id: JsonValue): ObjectId {
  const accepted = typeof id === 'string' ? kind.ids.parse(id) : undefined;
  if (accepted === undefined) throw invalidParameters([refusedId('path', id, kind.ids)]);
  return accepted;
}
