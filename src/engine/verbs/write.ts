// The one place where an object is written: attributes, permissions, and what follows from the change.
import type { JsonObject } from '../../base/json.ts';
import { countValues, formatInSteps, largeTextChars } from '../../base/json-steps.ts';
import { isSteps, runFromNow, type Steps } from '../../base/steps.ts';
import type { ConditionalWrite } from '../../contracts/database.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import type { Action } from '../../core/events/payload.ts';
import type { ObjectId } from '../../core/objects/object-id.ts';
import { StoredObject } from '../../core/objects/stored.ts';
import { honouredTimestamp } from '../../core/objects/timestamps.ts';
import { invalidParameters, ServiceError, type Issue } from '../../core/errors.ts';
import type { LockedState } from '../../contracts/storage.ts';
import { required, type SentData } from '../envelope.ts';
import { announceChanges } from '../events/announce.ts';
import type { Change, PendingWrite, SentAttributes } from '../kind.ts';
import { permissionChanges, withWriter } from '../object-permissions.ts';
import { presentObject, viewerOf } from '../visibility.ts';
import { idsWith, type Scope } from '../scope.ts';
import type { Writer } from '../unit-of-work.ts';

export interface Write {
  readonly id: ObjectId;
  /** The object before; `undefined` when it is being created. */
  readonly old: StoredObject | undefined;
  /** Whether the id was drawn at random for this object. */
  readonly isFresh?: boolean;
  /** Entries before the write where they are known, read under the lock. */
  readonly stored?: ObjectPermissions | undefined;
  /** Of the list before the write, as far as known. */
  readonly clock: number | undefined;
  readonly attributes: JsonObject;
  /** Timestamp that the client asks for. */
  readonly sentTimestamp: SentData['lastModified'];
  /** Entries after the write, from those before it; the caller is added by the engine. */
  readonly permissions: (stored: ObjectPermissions) => ObjectPermissions;
  /** Whether the kind's last word on the attributes is not asked for. */
  readonly isVerbatim?: boolean;
  /** URI of the object whose attributes these are, when the service copies it. */
  readonly copiedFrom?: string | undefined;
}

export interface Written {
  readonly object: StoredObject;
  readonly permissions: ObjectPermissions;
}

/**
 * Stores attributes and permissions, and runs the hooks of the kind.
 *
 * @param writer `undefined`: as a write alone, see `canWriteConditionally`
 */
export async function writeObject(scope: Scope, writer: Writer | undefined, write: Write): Promise<Written> {
  const { kind, context, list, options } = scope;
  const { id, old } = write;
  const ids = idsWith(scope, id);
  const action = old === undefined ? 'create' : 'update';
  const { beforeWrite, afterChange, ownerOf } = kind.declaration;
  const isFinished = beforeWrite === undefined || write.isVerbatim === true;
  const attributes = isFinished ? write.attributes : await beforeWrite(pendingWrite(scope, write));
  const timestamp = honouredTimestamp(write.sentTimestamp, old?.lastModified);
  if (timestamp === 'out of range') throw invalidParameters([timestampIssue('last_modified')]);
  const formatted = runFromNow(formatFitting(options, attributes, old), 'urgent');
  const text = typeof formatted === 'string' ? formatted : await formatted;
  const uri = kind.objectUri(ids);
  let permissions: ObjectPermissions = {};
  let changes: ObjectPermissions = {};
  if (kind.isShareable) {
    const { permission } = writer ?? context.unit.reader;
    const stored = old === undefined ? {} : (write.stored ?? (await permission.getObjectPermissions(uri)));
    const asked = write.permissions(stored);
    if (ownerOf !== undefined) permissions = { ...asked, write: [ownerOf(id)] };
    else permissions = options.explicitPermissions ? withWriter(asked, context.caller.principal) : asked;
    changes = old === undefined ? permissions : permissionChanges(stored, permissions);
    requireFewPrincipals(changes, stored, options.maxPrincipals);
    requirePossiblePrincipals(changes, stored, options);
  }
  const isFresh = write.isFresh === true;
  if (writer === undefined) {
    // New entries are those that were read with a change to them, and nothing would tell that others have come meanwhile.
    if (old !== undefined && Object.keys(changes).length > 0) throw new ChangedMeanwhile();
    const object = await writeConditionally(scope, {
      id,
      expected: old,
      isFresh,
      text,
      lastModified: timestamp,
      uri: kind.isShareable ? uri : undefined,
      entries: changes,
    });
    return { object: new StoredObject(id, object, text, attributes), permissions };
  }
  const stored =
    old === undefined
      ? await writer.storage.create(list, id, text, timestamp, { isFresh })
      : await writer.storage.update(list, id, text, timestamp);
  // What hooks and subscribers are given knows its attributes, so that nobody has to parse them anew.
  const object = stored.isLarge ? new StoredObject(id, stored.lastModified, text, attributes) : stored;
  if (Object.keys(changes).length > 0) {
    // Under an id drawn just now there is nothing to replace.
    if (isFresh) await writer.permission.addToAces([{ objectId: uri, permissions: changes }], { isFresh });
    else await writer.permission.replaceObjectPermissions(uri, changes);
  }
  const { caller } = context;
  const { isByService = false } = scope;
  const change: Change = {
    action,
    kind: kind.name,
    list,
    uri,
    ids,
    old,
    new: object,
    permissions,
    caller,
    isByService,
    copiedFrom: write.copiedFrom,
  };
  if (afterChange !== undefined) await afterChange(change, writer);
  announceChanges(scope, write.clock, [change]);
  if (write.copiedFrom !== undefined) context.unit.events.addCopy(change);
  return { object, permissions };
}

/** Text of attributes, and its number of JSON values, which is 0 when the text is too short for too many. */
interface FormattedText {
  readonly text: string;
  readonly values: number;
}

/** Texts of large attributes, formatted before the list was locked or for another entry of the batch. */
const formattedTexts = new WeakMap<JsonObject, FormattedText>();

/**
 * The text of attributes that are about to be stored. Patches could make an object grow without end, until it can neither
 * be sent nor read as one text; objects that are too large already may become smaller.
 *
 * @throws ServiceError requestTooLarge, invalidParameters
 */
function* formatFitting(
  { maxObjectChars, maxObjectValues }: Scope['options'],
  attributes: JsonObject,
  old: StoredObject | undefined,
): Steps<string> {
  const { text, values } = formattedTexts.get(attributes) ?? (yield* formatCounted(attributes, maxObjectValues));
  if (text.length > maxObjectChars && text.length > (old?.text.length ?? 0)) {
    throw new ServiceError('requestTooLarge', { message: 'The object would become too large.' });
  }
  if (values > maxObjectValues && (old === undefined || values > (yield* countValues(old.text)))) {
    const description = `the object would have ${values} JSON values, more than ${maxObjectValues} (max_json_values)`;
    throw invalidParameters([{ location: 'body', name: 'data', description }]);
  }
  return text;
}

/** Formats attributes and counts their JSON values; remembers both when the text is large. */
function* formatCounted(attributes: JsonObject, maxValues: number): Steps<FormattedText> {
  const text = yield* formatInSteps(attributes);
  // Each value takes a character, and another one to separate it from the next.
  const values = text.length < 2 * maxValues ? 0 : yield* countValues(text);
  const formatted = { text, values };
  if (text.length >= largeTextChars) formattedTexts.set(attributes, formatted);
  return formatted;
}

/** Entries that are already longer, because they were brought from elsewhere, may become shorter. */
function requireFewPrincipals(changes: ObjectPermissions, stored: ObjectPermissions, most: number): void {
  for (const name of Object.keys(changes)) {
    const { length } = changes[name]!;
    if (most === 0 || length <= most || length <= (stored[name]?.length ?? 0)) continue;
    const description = `${length} principals are more than ${most}: groups hold many with one entry`;
    throw invalidParameters([{ location: 'body', name: `permissions.${name}`, description }]);
  }
}

/** Entries that were brought from elsewhere may stay as they are. */
function requirePossiblePrincipals(
  changes: ObjectPermissions,
  stored: ObjectPermissions,
  { isImpossibleGroup }: Scope['options'],
): void {
  for (const name of Object.keys(changes)) {
    for (const principal of changes[name]!) {
      if (!isImpossibleGroup(principal) || stored[name]?.includes(principal) === true) continue;
      const description = `no group can have the URI ${JSON.stringify(principal.slice(0, 100))}`;
      throw invalidParameters([{ location: 'body', name: `permissions.${name}`, description }]);
    }
  }
}

/**
 * Whether a write may be done in one step, from what was read before it: nothing follows from it, nobody listens, and the
 * request asks for nothing else.
 */
export function canWriteConditionally({ kind, context, isOnlyWrite = false }: Scope, action: Action): boolean {
  const { unit } = context;
  if (!isOnlyWrite || !unit.canWriteConditionally) return false;
  return kind.declaration.afterChange === undefined && !unit.hears(kind.name, action);
}

/**
 * What a write alone was decided on has changed, or nobody would know. Nothing was written, and the verb has to be run again
 * under locks.
 */
export class ChangedMeanwhile extends Error {}

/**
 * Writes to an object of the list in one step; returns its timestamp.
 *
 * @throws ChangedMeanwhile
 */
export async function writeConditionally(
  { kind, context, list }: Scope,
  { id, expected, isFresh = false, text, lastModified, uri, entries }: Omit<ConditionalWrite, 'list' | 'holder'>,
): Promise<number> {
  const { unit, ids, caller } = context;
  const { parent } = kind;
  const holder = parent === undefined ? undefined : { list: parent.listKey(ids, caller), id: ids[parent.idName]! };
  // Written out, for spreads take many times longer.
  const timestamp = await unit.writeConditionally({
    list,
    holder,
    id,
    expected,
    isFresh,
    text,
    lastModified,
    uri,
    entries,
  });
  if (timestamp === undefined) throw new ChangedMeanwhile();
  return timestamp;
}

/**
 * Does the slow work on attributes that are about to be written, before anything is locked: that of the kind, and the
 * formatting of large attributes. Their last check may find something else when it is repeated under the lock.
 *
 * @param isLarge whether the attributes may be large
 */
export function prepareWrite(
  scope: Scope,
  write: Pick<Write, 'id' | 'old' | 'attributes'>,
  isLarge: boolean,
): Promise<void> | undefined {
  const { prepareWrite: prepareKind } = scope.kind.declaration;
  if (prepareKind !== undefined) return prepareKind(pendingWrite(scope, write));
  return isLarge ? prepareText(scope, write) : undefined;
}

async function prepareText(scope: Scope, write: Pick<Write, 'id' | 'old' | 'attributes'>): Promise<void> {
  const { beforeWrite } = scope.kind.declaration;
  try {
    const attributes = beforeWrite === undefined ? write.attributes : await beforeWrite(pendingWrite(scope, write));
    await runFromNow(formatFitting(scope.options, attributes, write.old), 'normal');
  } catch (error) {
    // Reported after the preconditions, when it is found again.
    if (!(error instanceof ServiceError)) throw error;
  }
}

function pendingWrite(scope: Scope, { id, old, attributes }: Pick<Write, 'id' | 'old' | 'attributes'>): PendingWrite {
  const { kind, context } = scope;
  return {
    action: old === undefined ? 'create' : 'update',
    kind: kind.name,
    id,
    ids: idsWith(scope, id),
    attributes,
    old,
    writer: viewerOf(scope),
    unit: context.unit,
    clientAddress: context.request.clientAddress,
  };
}

/** The state with the object as the caller may see it, for telling why a precondition does not hold. */
export function presentState(scope: Scope, state: LockedState): LockedState {
  return state.object === undefined ? state : { ...state, object: presentObject(scope, state.object) };
}

/** Where attributes that are to be checked come from. */
export interface CheckedData extends SentAttributes {
  /** What stands before attribute names in issues: `data.` where the names are those of the request. */
  readonly prefix: 'data.' | '';
  /** Whether they are the stored attributes as they were, to which the schema of the kind is not applied again. */
  readonly isStored?: boolean;
}

/** Checks data against the rules of the kind and completes it; what is wrong is added to the issues. */
export function* checkData({ kind }: Scope, data: SentData, from: CheckedData, issues: Issue[]): Steps<JsonObject> {
  const { prefix, isStored = false } = from;
  if (honouredTimestamp(data.lastModified, undefined) === 'out of range')
    issues.push(timestampIssue(`${prefix}last_modified`));
  const { checkAttributes } = kind.declaration;
  if (checkAttributes === undefined && kind.attributes === undefined) return data.attributes;
  const complain = (name: string, description: string): void => {
    issues.push({ location: 'body', name: prefix + name, description });
  };
  const before = issues.length;
  const rules = isStored ? undefined : kind.attributes;
  const attributes = rules === undefined ? data.attributes : yield* rules.check(data.attributes, complain);
  if (issues.length > before && prefix !== '' && !from.hasData)
    issues.push(required('data', 'put attributes in {"data": {…}}'));
  if (checkAttributes === undefined) return attributes;
  const checked = checkAttributes(attributes, complain, from);
  return isSteps(checked) ? yield* checked : checked;
}

/** The id in the data has to be the one in the path. */
export function requireSameId(sent: SentData['id'], id: string): void {
  if (sent === undefined || sent === id) return;
  throw invalidParameters([{ location: 'body', name: 'id', description: 'the id differs from the one in the path' }]);
}

function timestampIssue(name: string): Issue {
  return { location: 'body', name, description: 'expected a timestamp of at most 2^52' };
}
