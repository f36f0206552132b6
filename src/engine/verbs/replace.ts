// PUT on an object: creates it, or replaces its attributes, its permissions, or both.
import type { JsonObject } from '../../base/json.ts';
import { runFromNow, type Steps } from '../../base/steps.ts';
import { invalidParameters, type Issue } from '../../core/errors.ts';
import type { StoredObject } from '../../core/objects/stored.ts';
import { isAllowed } from '../access.ts';
import { lockedTimestamp } from '../conditional-write.ts';
import { readEnvelope, type Envelope, type SentData } from '../envelope.ts';
import type { ServiceResponse } from '../exchange.ts';
import { createdPermissions, replacedPermissions } from '../object-permissions.ts';
import { presentState, requireOwnId } from '../visibility.ts';
import { existsAlready, preconditionFailed, readPreconditions, requireWritable } from '../preconditions.ts';
import { objectResponse } from '../respond.ts';
import { objectId, type Scope } from '../scope.ts';
import { beginWrite, byRule } from '../begin-write.ts';
import { checkData, prepareWrite, requireSameId, writeObject } from '../write-object.ts';

/** Creates or replaces an object. Without `data` the attributes of an existing object are kept. */
export async function replaceObject(scope: Scope): Promise<ServiceResponse> {
  const { kind, context } = scope;
  const id = objectId(scope);
  requireOwnId(scope, id);
  const preconditions = readPreconditions(context);
  // With `If-None-Match: *` an existing object is not changed, so the right to create is enough for a response.
  const createsOnly = preconditions.ifNoneMatch?.any === true;
  const choose = byRule(scope, context.ids, (exists) =>
    exists && !createsOnly ? kind.rules.write : kind.rules.create,
  );
  // Parsed attributes of a large object that keeps them.
  let kept: { readonly text: string; readonly attributes: JsonObject } | undefined;
  const prepareKept = async (old: StoredObject): Promise<void> => {
    kept = { text: old.text, attributes: await runFromNow(old.read(), 'normal') };
    await prepareWrite(scope, { id, old, attributes: kept.attributes }, true);
  };
  const begun = await beginWrite(scope, {
    id,
    action: 'update',
    authorize: choose,
    expects: [true, false],
    rewrites: true,
    replaces: ({ envelope }) => envelope.data !== undefined,
    readsPermissions: true,
    check: () => runFromNow(readSent(scope), 'normal'),
    prepare: (sent, old) => {
      if (old === undefined) requireComplete(sent);
      const isKept = old !== undefined && sent.envelope.data === undefined;
      if (isKept && old.isLarge) return prepareKept(old);
      return prepareWrite(scope, { id, old, attributes: chooseAttributes(sent, old) }, context.request.body.isLarge);
    },
  });
  const { reader, state, checked } = begun;
  const { envelope, data } = checked;
  if (state.object === undefined) requireComplete(checked);
  if (
    state.object !== undefined &&
    createsOnly &&
    !(await isAllowed(kind.rules.read, context.caller, reader, context.ids))
  ) {
    throw preconditionFailed(lockedTimestamp(begun), undefined, existsAlready);
  }
  // A deleted object may be recreated on condition that it was not deleted again.
  requireWritable(preconditions, presentState(scope, state), state.tombstone?.lastModified);
  requireSameId(data.id, id);

  const old = state.object;
  const written = await writeObject(scope, begun, {
    id,
    old,
    stored: begun.permissions,
    clock: state.timestamp,
    attributes: kept !== undefined && kept.text === old?.text ? kept.attributes : chooseAttributes(checked, old),
    sentTimestamp: data.lastModified,
    permissions: (stored) =>
      old === undefined ? createdPermissions(envelope.permissions) : replacedPermissions(stored, envelope.permissions),
  });
  return objectResponse(scope, old === undefined ? 201 : 200, written.object, written.permissions);
}

interface Sent {
  readonly envelope: Envelope;
  readonly data: SentData;
  readonly attributes: JsonObject;
  /** Faults of a body without data, if the object is new: an existing object keeps its attributes. */
  readonly lacking: readonly Issue[];
}

/** Reads and checks the body. Faults go to the issues. */
function* readSent(scope: Scope): Steps<Sent> {
  const { kind, context } = scope;
  const { envelope, data } = yield* readEnvelope(scope);
  const hasData = envelope.data !== undefined;
  const lacking: Issue[] = [];
  const issues = hasData || kind.declaration.requiresData === true ? context.issues : lacking;
  return { envelope, data, attributes: yield* checkData(scope, data, { prefix: 'data.', hasData }, issues), lacking };
}

/**
 * Requires what a new object needs.
 *
 * @throws ServiceError invalidParameters
 */
function requireComplete({ lacking }: Sent): void {
  if (lacking.length > 0) throw invalidParameters(lacking);
}

/** Returns the attributes to write: those sent, or without `data` those of the existing object. */
function chooseAttributes(
  { envelope, attributes }: Pick<Sent, 'envelope' | 'attributes'>,
  old: StoredObject | undefined,
): JsonObject {
  return old !== undefined && envelope.data === undefined ? old.attributes : attributes;
}
