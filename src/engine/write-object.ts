// Writes one object: attributes, permissions and the consequences of the change. All writes use it, those of requests and
// those of the service.
import type { JsonObject } from '../base/json.ts';
import { countValues, formatAndCount, largeTextChars, type CountedText } from '../base/json-steps.ts';
import { isSteps, runFromNow, type Steps } from '../base/steps.ts';
import type { ObjectPermissions } from '../contracts/permission.ts';
import type { ObjectId } from '../core/objects/object-id.ts';
import { StoredObject, type IndexKeys } from '../core/objects/stored.ts';
import type { ListIndex } from '../core/query/ast.ts';
import { honouredTimestamp } from '../core/objects/timestamps.ts';
import { invalidParameters, ServiceError, type Issue } from '../core/errors.ts';
import { keysInSteps, keysOf } from '../core/index/definition.ts';
import { toPrincipal } from '../core/permissions/principals.ts';
import { declaredIndexes } from './list-indexes.ts';
import { writeConditionally, type WriteTarget } from './conditional-write.ts';
import { required, type SentData } from './envelope.ts';
import { announceChanges } from './events/announce.ts';
import type { Change } from './events/event.ts';
import type { PendingWrite, SentAttributes } from './kind.ts';
import { permissionChanges, withWriter } from './object-permissions.ts';
import { requireUnique } from './list-indexes.ts';
import { holdAbove, idsWith, objectId, type Scope, type WriteOptions } from './scope.ts';
import { viewerOf } from './visibility.ts';

export interface Write {
  readonly id: ObjectId;
  /** The object before; `undefined` when it is being created. */
  readonly old: StoredObject | undefined;
  /** Whether the service has generated the id for this object; default `false`. */
  readonly isIdGenerated?: boolean;
  /** Entries before the write, read under the lock; absent: they are read now. */
  readonly stored?: ObjectPermissions | undefined;
  /** Timestamp of the list before the write, if known. */
  readonly clock: number | undefined;
  readonly attributes: JsonObject;
  /** Timestamp that the client asks for. */
  readonly sentTimestamp: SentData['lastModified'];
  /** Returns the entries after the write from those before; the caller is added as a writer where a setting says so. */
  readonly permissions: (stored: ObjectPermissions) => ObjectPermissions;
  /** Whether `beforeWrite` of the kind is skipped; default `false`. */
  readonly isVerbatim?: boolean;
  /** URI of the object whose attributes these are, when the service copies it. */
  readonly copiedFrom?: string | undefined;
}

export interface Written {
  readonly object: StoredObject;
  readonly permissions: ObjectPermissions;
}

/**
 * Stores attributes and permissions, runs the hooks of the kind and announces the change.
 *
 * @throws ServiceError requestTooLarge, invalidParameters, or the error of a hook; StaleState
 */
export async function writeObject(scope: Scope<WriteOptions>, target: WriteTarget, write: Write): Promise<Written> {
  const { kind, context, list, options } = scope;
  const { id, old } = write;
  const ids = idsWith(scope, id);
  const { beforeWrite, afterChange, ownerOf } = kind.declaration;
  const isFinished = beforeWrite === undefined || write.isVerbatim === true;
  const attributes = isFinished ? write.attributes : await beforeWrite(pendingWrite(scope, write));
  const timestamp = honouredTimestamp(write.sentTimestamp, old?.lastModified);
  if (timestamp === 'out of range') throw invalidParameters([timestampIssue('last_modified')]);
  const formatted = runFromNow(formatFitting(options, attributes, old), 'urgent');
  const text = typeof formatted === 'string' ? formatted : await formatted;
  const uri = kind.objectUri(ids);
  const indexes = declaredIndexes(kind, target.above);
  const keys = indexes.length === 0 ? undefined : await keysOfText(indexes, attributes, text);
  let permissions: ObjectPermissions = {};
  let changes: ObjectPermissions = {};
  if (kind.isShareable) {
    const stored =
      old === undefined ? {} : (write.stored ?? (await target.reader.permission.getObjectPermissions(uri)));
    const wanted = write.permissions(stored);
    if (ownerOf !== undefined) permissions = { ...wanted, write: [toPrincipal(ownerOf(id))] };
    else permissions = options.explicitPermissions ? withWriter(wanted, context.caller.principal) : wanted;
    changes = old === undefined ? permissions : permissionChanges(stored, permissions);
    requireFewPrincipals(changes, stored, options.maxPrincipals);
    requirePossiblePrincipals(changes, stored, options);
  }
  const { writer } = target;
  const isFresh = write.isIdGenerated === true && kind.ids.isUnique;
  if (writer === undefined) {
    const lastModified = await writeConditionally(scope, target.above, {
      id,
      expected: old,
      isFresh,
      text,
      lastModified: timestamp,
      keys,
      uri: kind.isShareable ? uri : undefined,
      entries: changes,
    });
    return { object: new StoredObject(id, lastModified, text, attributes), permissions };
  }
  if (indexes.length > 0) await requireUnique(scope, writer, indexes, { id, attributes, old });
  const stored =
    old === undefined
      ? await writer.storage.create(list, id, text, timestamp, { isFresh, keys })
      : await writer.storage.update(list, id, text, timestamp, keys);
  // With its attributes, so that hooks and subscribers need not parse a large text again.
  const object = stored.isLarge ? new StoredObject(id, stored.lastModified, text, attributes) : stored;
  if (Object.keys(changes).length > 0) {
    // A generated id has no entries to replace.
    if (isFresh) await writer.permission.addToAces([{ objectId: uri, permissions: changes }], { isFresh });
    else await writer.permission.replaceObjectPermissions(uri, changes);
  }
  const { caller } = context;
  const { isByService = false } = scope;
  const change: Change = {
    action: old === undefined ? 'create' : 'update',
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

/** Returns the keys of attributes, in steps when their text is large. */
function keysOfText(
  indexes: readonly ListIndex[],
  attributes: JsonObject,
  text: string,
): IndexKeys | Promise<IndexKeys> {
  if (text.length < largeTextChars) return keysOf(indexes, attributes);
  return runFromNow(keysInSteps(indexes, attributes), 'urgent');
}

/** A write by code of the service, which decides on the object as it is under the lock. */
export interface ObjectChange {
  /**
   * Returns the attributes after the write from the object under the lock, `undefined` when it does not exist. Returning
   * `undefined` leaves the object as it is.
   */
  readonly attributes: (old: StoredObject | undefined) => JsonObject | undefined;
  /** Returns the entries after the write from those before; absent: they stay. */
  readonly permissions?: (stored: ObjectPermissions) => ObjectPermissions;
  /** As in `Write`: for attributes that were checked and completed elsewhere, such as those of copies. */
  readonly isVerbatim?: boolean;
  /**
   * URI of the object whose attributes these are, read in this unit of work under the lock of its list. Subscribers find
   * it in the change.
   */
  readonly copiedFrom?: string;
}

/**
 * Locks the object whose id is in the path, and creates it or replaces its attributes. The caller's permissions are not checked.
 *
 * @returns `undefined` when nothing was written
 * @throws ServiceError missingParent, or the error of a hook of the kind
 */
export async function changeObject(scope: Scope<WriteOptions>, change: ObjectChange): Promise<Written | undefined> {
  const id = objectId(scope);
  const writer = await scope.context.unit.writer();
  const above = await holdAbove(scope, writer);
  if (above.missing !== undefined) throw above.missing;
  const { object: old, timestamp: clock } = await writer.storage.lock(scope.list, id);
  const attributes = change.attributes(old);
  if (attributes === undefined) return undefined;
  const { permissions = (stored) => stored, isVerbatim = false, copiedFrom } = change;
  const write = { id, old, clock, attributes, sentTimestamp: undefined, permissions, isVerbatim, copiedFrom };
  return writeObject(scope, { reader: writer, writer, above }, write);
}

/** Texts of large attributes, formatted before the list was locked or for another entry of the batch. */
const formattedTexts = new WeakMap<JsonObject, CountedText>();

/**
 * Formats attributes that are about to be stored. Patches could make an object grow until it can neither be sent nor read as
 * one text. An object that is too large already may become smaller.
 *
 * @throws ServiceError requestTooLarge, invalidParameters
 */
function* formatFitting(
  { maxObjectChars, maxObjectValues }: WriteOptions,
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
function* formatCounted(attributes: JsonObject, maxValues: number): Steps<CountedText> {
  const formatted = yield* formatAndCount(attributes, maxValues);
  if (formatted.text.length >= largeTextChars) formattedTexts.set(attributes, formatted);
  return formatted;
}

/** Refuses entries with too many principals. An entry that is longer already, because it was imported, may shrink. */
function requireFewPrincipals(changes: ObjectPermissions, stored: ObjectPermissions, most: number): void {
  for (const name of Object.keys(changes)) {
    const { length } = changes[name]!;
    if (most === 0 || length <= most || length <= (stored[name]?.length ?? 0)) continue;
    const description = `${length} principals are more than ${most}: groups hold many with one entry`;
    throw invalidParameters([{ location: 'body', name: `permissions.${name}`, description }]);
  }
}

/** Refuses URIs that no group can have. Imported entries may keep theirs. */
function requirePossiblePrincipals(
  changes: ObjectPermissions,
  stored: ObjectPermissions,
  { isImpossibleGroup }: WriteOptions,
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
 * Does slow work on attributes before the list is locked: that of the kind, and the formatting of large attributes. The
 * check is repeated under the lock and may then have another result.
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
    // Reported after the preconditions, when the check under the lock fails again.
    if (!(error instanceof ServiceError)) throw error;
  }
}

function pendingWrite(
  scope: Scope<unknown>,
  { id, old, attributes }: Pick<Write, 'id' | 'old' | 'attributes'>,
): PendingWrite {
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
    request: context.request,
  };
}

/** Origin of the attributes to check. */
export interface CheckedData extends SentAttributes {
  /** Prefix of attribute names in issues: `data.` where the names are those of the request. */
  readonly prefix: 'data.' | '';
  /** Whether these are the stored attributes, to which the schema of the kind is not applied again; default `false`. */
  readonly isStored?: boolean;
}

/** Checks data against the rules of the kind and completes it. Faults go to the issues. */
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

/** Requires the id in the data, if there is one, to be the id in the path. */
export function requireSameId(sent: SentData['id'], id: string): void {
  if (sent === undefined || sent === id) return;
  throw invalidParameters([{ location: 'body', name: 'id', description: 'the id differs from the one in the path' }]);
}

function timestampIssue(name: string): Issue {
  return { location: 'body', name, description: 'expected a timestamp of at most 2^52' };
}
