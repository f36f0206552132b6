// PUT on an object: create it, or replace its attributes, its permissions, or both.
import type { JsonObject } from '../../base/json.ts';
import { runFromNow, type Steps } from '../../base/steps.ts';
import { invalidParameters, type Issue } from '../../core/errors.ts';
import type { StoredObject } from '../../core/objects/stored.ts';
import { isAllowed } from '../access.ts';
import { readEnvelope, type Envelope, type SentData } from '../envelope.ts';
import type { ServiceResponse } from '../exchange.ts';
import { createdPermissions, replacedPermissions } from '../object-permissions.ts';
import { requireOwnId } from '../visibility.ts';
import { preconditionFailed, readPreconditions, requireWritable } from '../preconditions.ts';
import { objectResponse } from '../respond.ts';
import { objectId, type Scope } from '../scope.ts';
import { beginWrite, byRule } from './begin-write.ts';
import { ChangedMeanwhile, checkData, prepareWrite, presentState, requireSameId, writeObject } from './write.ts';

/** Creates or replaces an object. Without `data` the attributes of an existing object are kept. */
export async function replaceObject(scope: Scope): Promise<ServiceResponse> {
  const { kind, context } = scope;
  const id = objectId(scope);
  requireOwnId(scope, id);
  const preconditions = readPreconditions(context);
  // With `If-None-Match: *` nothing existing will be changed, so the right to create is enough to be told.
  const createsOnly = preconditions.ifNoneMatch?.any === true;
  const choose = byRule(scope, context.ids, (exists) =>
    exists && !createsOnly ? kind.rules.write : kind.rules.create,
  );
  // Attributes of a large object that are kept as they are.
  let kept: { readonly text: string; readonly attributes: JsonObject } | undefined;
  const prepareKept = async (old: StoredObject): Promise<void> => {
    kept = { text: old.text, attributes: await runFromNow(old.read(), 'normal') };
    await prepareWrite(scope, { id, old, attributes: kept.attributes }, true);
  };
  const { writer, state, permissions, checked } = await beginWrite(scope, {
    id,
    action: 'update',
    authorize: choose,
    expects: [true, false],
    rewrites: true,
    readsPermissions: true,
    check: () => runFromNow(readSent(scope), 'normal'),
    prepare: (sent, old) => {
      if (old === undefined) requireComplete(sent);
      const isKept = old !== undefined && sent.envelope.data === undefined;
      if (isKept && old.isLarge) return prepareKept(old);
      return prepareWrite(scope, { id, old, attributes: chooseAttributes(sent, old) }, context.request.body.isLarge);
    },
  });
  const { envelope, data } = checked;
  if (state.object === undefined) requireComplete(checked);
  if (
    state.object !== undefined &&
    createsOnly &&
    !(await isAllowed(kind.rules.read, context.caller, writer ?? context.unit.reader, context.ids))
  ) {
    // What is told is the clock of the list, which is not known to a write that is to be done alone.
    if (writer === undefined) throw new ChangedMeanwhile();
    throw preconditionFailed(state.timestamp);
  }
  // A deleted object may be recreated on condition that it was not deleted again.
  requireWritable(preconditions, presentState(scope, state), state.tombstone?.lastModified);
  requireSameId(data.id, id);

  const old = state.object;
  const written = await writeObject(scope, writer, {
    id,
    old,
    stored: permissions,
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
  /** What a new object lacks, where the body has no data: one that exists keeps its attributes. */
  readonly lacking: readonly Issue[];
}

/** Reads and checks the body; what is wrong with it is added to the issues. */
function* readSent(scope: Scope): Steps<Sent> {
  const { kind, context } = scope;
  const { envelope, data } = yield* readEnvelope(scope);
  const hasData = envelope.data !== undefined;
  const lacking: Issue[] = [];
  const issues = hasData || kind.declaration.requiresData === true ? context.issues : lacking;
  return { envelope, data, attributes: yield* checkData(scope, data, { prefix: 'data.', hasData }, issues), lacking };
}

/** @throws ServiceError invalidParameters when a new object would lack something */
function requireComplete({ lacking }: Sent): void {
  if (lacking.length > 0) throw invalidParameters(lacking);
}

/** Those sent; without `data` those that are there. */
function chooseAttributes(
  { envelope, attributes }: Pick<Sent, 'envelope' | 'attributes'>,
  old: StoredObject | undefined,
): JsonObject {
  return old !== undefined && envelope.data === undefined ? old.attributes : attributes;
}
