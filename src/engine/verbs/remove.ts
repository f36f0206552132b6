// DELETE on an object: a tombstone takes its place, from which clients that follow the list learn of the deletion.
import type { Issue } from '../../core/errors.ts';
import { formatEntry } from '../../core/objects/stored.ts';
import { latestTimestamp } from '../../core/objects/timestamps.ts';
import { beginWrite, forChange } from '../begin-write.ts';
import { deleteObject } from '../delete-objects.ts';
import type { ServiceResponse } from '../exchange.ts';
import { readPreconditions, requireMatch } from '../preconditions.ts';
import { timestampHeaders } from '../respond.ts';
import { missingObject, objectId, type Scope } from '../scope.ts';
import { presentObject } from '../visibility.ts';

/** Deletes an object and everything that belongs to it. */
export async function removeObject(scope: Scope): Promise<ServiceResponse> {
  const { context } = scope;
  const id = objectId(scope);
  const preconditions = readPreconditions(context);
  const begun = await beginWrite(scope, {
    id,
    action: 'delete',
    authorize: forChange(scope),
    expects: [true],
    check: () => readTimestamp(scope),
  });
  const { state, checked: sentTimestamp } = begun;
  const old = state.object;
  if (old === undefined) throw missingObject(scope, id);
  requireMatch(preconditions, old.lastModified, presentObject(scope, old));
  // As with updates, a timestamp that is not later than that of the object is ignored.
  const lastModified = sentTimestamp !== undefined && sentTimestamp > old.lastModified ? sentTimestamp : undefined;
  const tombstone = await deleteObject(scope, begun, { old, clock: state.timestamp, lastModified });
  const headers = timestampHeaders(tombstone.lastModified);
  return { status: 200, headers, body: `{"data":${formatEntry(tombstone)}}` };
}

const integer = /^(?:-?\d+|"-?\d+")$/;

/** Reads the query parameter `last_modified`, with or without double quotes. */
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
