// DELETE on an object: a tombstone takes its place, so that clients who follow the list learn of it.
import { pause } from '../../base/steps.ts';
import type { Issue } from '../../core/errors.ts';
import type { Deletion } from '../../contracts/storage.ts';
import type { ServiceResponse } from '../exchange.ts';
import { storedId, type PathIds } from '../../core/objects/object-id.ts';
import { formatEntry, type Tombstone } from '../../core/objects/stored.ts';
import { latestTimestamp } from '../../core/objects/timestamps.ts';
import { announceChanges } from '../events/announce.ts';
import type { Change } from '../kind.ts';
import { presentObject } from '../visibility.ts';
import { readPreconditions, requireMatch } from '../preconditions.ts';
import { timestampHeaders } from '../respond.ts';
import { missingObject, objectId, type Scope } from '../scope.ts';
import type { Writer } from '../unit-of-work.ts';
import { beginWrite, forChange } from './begin-write.ts';
import { writeConditionally } from './write.ts';

/** Deletes an object and everything that belongs to it. */
export async function removeObject(scope: Scope): Promise<ServiceResponse> {
  const { kind, context, list } = scope;
  const id = objectId(scope);
  const preconditions = readPreconditions(context);
  const begun = await beginWrite(scope, {
    id,
    action: 'delete',
    authorize: forChange(scope),
    expects: [true],
    check: () => readTimestamp(scope),
  });
  const { writer, state, checked: sentTimestamp } = begun;
  const old = state.object;
  if (old === undefined) throw missingObject(scope, id);
  requireMatch(preconditions, old.lastModified, presentObject(scope, old));

  // One that is not newer than the object cannot mark its end: it is ignored, as with updates.
  const lastModified = sentTimestamp !== undefined && sentTimestamp > old.lastModified ? sentTimestamp : undefined;
  if (writer === undefined) {
    const uri = kind.isShareable ? kind.objectUri(context.ids) : undefined;
    const deletedAt = await writeConditionally(scope, {
      id,
      expected: old,
      text: undefined,
      lastModified,
      uri,
      entries: {},
    });
    return deletedResponse({ id, lastModified: deletedAt, deleted: true });
  }
  const deletion = await writer.storage.delete(list, id, { lastModified });
  if (deletion === undefined) throw missingObject(scope, id);
  await finishDeletions(scope, writer, state.timestamp, [deletion]);
  return deletedResponse(deletion.tombstone);
}

function deletedResponse(tombstone: Tombstone): ServiceResponse {
  const headers = timestampHeaders(tombstone.lastModified);
  return { status: 200, headers, body: `{"data":${formatEntry(tombstone)}}` };
}

/** Changes that are looked at before others are served. */
const changesPerTurn = 500;

/**
 * What follows from deletions of a list: their permissions go, the hooks of the kind run, and listeners hear of them.
 *
 * @param clock of the list before the deletions, as far as known
 */
export async function finishDeletions(
  scope: Scope,
  writer: Writer,
  clock: number | undefined,
  deletions: readonly Deletion[],
): Promise<void> {
  const { kind, context, list, isByService = false } = scope;
  const { caller } = context;
  const above = Object.entries(context.ids);
  const changes = deletions.map(({ old, tombstone }): Change => {
    // No spreads: they cost more than everything else here, and there may be thousands of changes.
    const ids: PathIds = Object.fromEntries([...above, [kind.idName, storedId(tombstone.id)] as const]);
    const uri = kind.objectUri(ids);
    return {
      action: 'delete',
      kind: kind.name,
      list,
      uri,
      ids,
      old,
      new: tombstone,
      permissions: {},
      caller,
      isByService,
    };
  });
  if (kind.isShareable && changes.length > 0) {
    await writer.permission.deleteObjectPermissions(changes.map(({ uri }) => uri));
  }
  const { afterChange } = kind.declaration;
  for (const [index, change] of changes.entries()) {
    if (index > 0 && index % changesPerTurn === 0) await pause('urgent');
    await context.unit.events.beforeCascade(change, context.unit);
    await afterChange?.(change, writer);
  }
  announceChanges(scope, clock, changes);
}

const integer = /^(?:-?\d+|"-?\d+")$/;

/** `?last_modified=` of a deletion, bare or in double quotes. */
function readTimestamp({ context }: Scope): number | undefined {
  const given = context.query.filter(([name]) => name === 'last_modified');
  if (given.length === 0) return undefined;
  const text = given[0]![1];
  const timestamp = Number(text.replaceAll('"', ''));
  if (given.length === 1 && integer.test(text) && timestamp <= latestTimestamp) return timestamp;
  const issue: Issue = { location: 'querystring', name: 'last_modified', description: 'expected one timestamp' };
  context.issues.push(issue);
  return undefined;
}
