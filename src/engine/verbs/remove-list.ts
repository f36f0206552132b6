// DELETE on a list: deletes one page of the objects that the caller may delete.
import { createHash } from 'node:crypto';
import { runFromNow } from '../../base/steps.ts';
import type { DeletedPage, Deletion } from '../../contracts/storage.ts';
import { keyOfList } from '../../core/lists/list-key.ts';
import { formatEntry, StoredObject, type ListKey } from '../../core/objects/stored.ts';
import { ServiceError } from '../../core/errors.ts';
import type { PageQuery } from '../../core/query/ast.ts';
import { isTooMuchWork } from '../../core/query/budget.ts';
import type { ListQuery } from '../../core/query/resolve.ts';
import { positionInSteps } from '../../core/query/sort.ts';
import { bytesOfShared, requireListAccess, type ListAccess } from '../access.ts';
import { renewCaller, type Caller } from '../caller.ts';
import { finishDeletions } from '../delete-objects.ts';
import { announceRead } from '../events/announce.ts';
import type { ServiceResponse } from '../exchange.ts';
import { HeldEntry, settleWith } from '../held-entry.ts';
import { budgetUnderLock, deprecationHeaders, readListParameters, readQuery, staleToken } from '../list-query.ts';
import { requireOpenList } from '../visibility.ts';
import { newNonce, nextPageUrl } from '../pages.ts';
import { readPreconditions, requireMatch } from '../preconditions.ts';
import { timestampHeaders } from '../respond.ts';
import { reportFor, withIndexes } from '../list-indexes.ts';
import { findAbove, holdAbove, requireNoIssues, type Scope } from '../scope.ts';
import { roomForObjects } from '../stored-work.ts';
import { bindSearch, searchPage, type BoundSearch } from '../text-search.ts';
import { canSelectAhead, deleteOrSelectAhead, selectAgain, selectAhead } from '../select-ahead.ts';
import type { Reader, Writer } from '../unit-of-work.ts';
import { warnOfFilters } from '../warnings.ts';

/** Deletes the objects that the filters select and returns their tombstones, in the order of the query. */
export async function removeList(scope: Scope): Promise<ServiceResponse> {
  const { kind, context, list, options } = scope;
  const { reader } = context.unit;
  requireOpenList(scope);
  // Read together, but a missing parent is reported only to callers with access.
  const [{ ids }, found] = await Promise.all([requireAccess(scope, context.caller, reader), findAbove(scope, reader)]);
  if (found.missing !== undefined) throw found.missing;
  const preconditions = readPreconditions(context);
  const parameters = await readListParameters(scope, 'deletion');
  requireNoIssues(scope);
  const report = await reportFor(scope, parameters);
  const resolved = resolve(() => readQuery(parameters, context, options, kind.traits));
  const search =
    resolved instanceof ServiceError
      ? undefined
      : await selectAhead(scope, { query: resolved, preconditions, above: found, ids, report });
  const ahead = search === 'tooMany' ? undefined : search;
  const mayRunAgain =
    search !== 'tooMany' && !(resolved instanceof ServiceError) && canSelectAhead(context.unit, resolved);
  const writer = await context.unit.writer();
  const [above, locked] = await Promise.all([holdAbove(scope, writer), writer.storage.lock(list)]);
  await kind.declaration.confirmCaller?.(context.caller, context.unit, writer);
  const tookLong = search !== undefined || (ids?.length ?? 0) > manyShared;
  const allowed = tookLong ? await renewAccess(scope, writer) : ids;
  if (above.missing !== undefined) throw above.missing;
  const timestamp = locked.timestamp ?? (await writer.storage.touch(list));
  requireMatch(preconditions, timestamp);
  if (resolved instanceof ServiceError) throw resolved;
  const query = { ...resolved, budget: budgetUnderLock(context.unit, options) };
  if (query.token !== undefined) await consumeNonce(scope, query.token.nonce, timestamp);

  const { sort, limit } = query;
  const selected = { ...query, ids: allowed, report: ahead === undefined ? report : undefined };
  const bound = query.text && (await bindSearch(scope, above, query.text));
  const deleteAll = async (): Promise<DeletedPage> => {
    if (bound !== undefined) return deleteFound(scope, writer, selected, bound);
    if (ahead === undefined) return deletePage(scope, writer, await withIndexes(scope, above, selected));
    const page = await deletePage(scope, writer, await selectAgain(scope, writer, selected, ahead));
    // Some may not match any longer. To fill the page with others would take long under the lock.
    return ahead.cut === undefined ? page : { ...page, more: true };
  };
  const { deletions, more } = await (mayRunAgain ? deleteOrSelectAhead(context.unit, deleteAll) : deleteAll());
  await finishDeletions(scope, writer, timestamp, deletions);
  if (deletions.length === 0) await announceRead(scope, [], timestamp);
  const newest = deletions.reduce((highest, { tombstone }) => Math.max(highest, tombstone.lastModified), 0);
  const headers = timestampHeaders(newest === 0 ? timestamp : newest, deprecationHeaders(parameters, options));
  if (report !== undefined) headers['Query-Plan'] = report.format();
  if (deletions.length === 0) warnOfFilters(headers, context.query);
  const last = deletions.at(-1)?.old ?? ahead?.cut;
  if (more && last !== undefined) {
    const nonce = await issueNonce(scope);
    const offset = (query.token?.offset ?? 0) + deletions.length;
    const next = { sort, limit, position: await runFromNow(positionInSteps(last, sort), 'urgent'), offset };
    try {
      headers['Next-Page'] = nextPageUrl(context, options, next, nonce);
    } catch (error) {
      // The client could not go on.
      context.unit.setRollbackOnly();
      throw error;
    }
  }
  const body = `{"data":[${deletions.map(({ tombstone }) => formatEntry(tombstone)).join(',')}]}`;
  return { status: 200, headers, body };
}

/** Number of objects up to which those that are shared with the caller are found within milliseconds. */
const manyShared = 1000;

function requireAccess({ kind, context }: Scope, caller: Caller, reader: Reader): Promise<ListAccess> {
  const { declaration, listUri, idName, rules } = kind;
  const requireRoom = roomForObjects(context, bytesOfShared);
  const { writeList: whole, create, write: own } = rules;
  return requireListAccess(
    { uri: listUri(context.ids), idName, whole, create, own, requireRoom, shows: declaration.shows },
    caller,
    reader,
    context.ids,
  );
}

/**
 * Returns the only ids that the caller may delete now; `undefined`: all. A search ahead takes long, and so does finding very many
 * shared objects. Meanwhile the caller may have lost access, and other objects may have taken the place of deleted ones. Writers
 * that come while this one waits for the lock go after it.
 *
 * @throws ServiceError missingAuthToken, forbidden
 */
async function renewAccess(scope: Scope, writer: Writer): Promise<ListAccess['ids']> {
  const { caller } = scope.context;
  const renewed = renewCaller(caller, (userId) => writer.permission.getUserPrincipals(userId));
  return (await requireAccess(scope, renewed, writer)).ids;
}

/** Returns the query, or its fault, which is reported after those of the list and of the preconditions. */
function resolve(read: () => ListQuery): ListQuery | ServiceError {
  try {
    return read();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

/**
 * Deletes what the query selects, up to its limit. Large objects are read in several pieces, and the memory for what is kept
 * of them until the request ends is reserved.
 */
async function deletePage(scope: Scope, { storage }: Writer, query: PageQuery): Promise<DeletedPage> {
  const { kind, list, context } = scope;
  const { limit } = query;
  const isLookedAt = kind.declaration.afterChange !== undefined || context.unit.hasSubscribers(kind.name, 'delete');
  const deletions: Deletion[] = [];
  let chars = 0;
  for (;;) {
    const left = limit - deletions.length;
    const page = await storage.deleteAll(list, { ...query, limit: left }).catch((error: unknown) => {
      // What is deleted already is the page: other entries of a batch are committed, so it cannot be undone alone.
      if (deletions.length === 0 || !isTooMuchWork(error)) throw error;
      return { deletions: [], more: true };
    });
    const last = page.deletions.at(-1);
    for (const deletion of page.deletions) {
      const isKept = isLookedAt || deletion === last;
      if (isKept) chars += deletion.old.text.length;
      deletions.push(isKept ? deletion : withoutText(deletion));
    }
    if (chars > smallChars) context.request.memory?.reserveNow(chars);
    if (!page.more || last === undefined || deletions.length >= limit) return { deletions, more: page.more };
  }
}

/** Deletes one page of the objects that a search finds. */
async function deleteFound(scope: Scope, writer: Writer, query: PageQuery, bound: BoundSearch): Promise<DeletedPage> {
  const { entries, more } = await searchPage(writer.storage, scope.list, query, bound);
  const ids = entries.map(({ id }) => id);
  const page = await deletePage(scope, writer, {
    ...query,
    filters: [],
    ids,
    after: undefined,
    report: undefined,
  });
  return { ...page, more: more || page.more };
}

/** Drops the text of a deleted object that neither hooks nor subscribers need. */
function withoutText({ old, tombstone }: Deletion): Deletion {
  return { old: new StoredObject(old.id, old.lastModified, '{}'), tombstone };
}

/** Characters that need no reservation. */
const smallChars = 65_536;

const purpose = 'list-deletion';

/**
 * Stores a nonce for the token of the next page.
 *
 * @throws SecurityStateFull when the client address has too many unfinished deletions
 */
async function issueNonce({ context, options, list }: Scope): Promise<string> {
  const { securityState, tokenValiditySeconds, requesterOf } = options;
  const key = newNonce();
  const requester = requesterOf(context.request.clientAddress);
  await securityState.put({ purpose, key, requester }, nameOf(list), tokenValiditySeconds);
  context.unit.onAbandon(() => securityState.remove({ purpose, key }));
  return key;
}

/** Returns a name of the list: a token is for one list only. */
function nameOf(list: ListKey): string {
  return createHash('sha256').update(keyOfList(list)).digest('base64url');
}

/** The form of nonces; a token from a client may contain any text. */
const nonceForm = /^[\w-]{1,100}$/;

/**
 * Consumes the nonce of a token: a repeated request must not delete newer objects. An undone deletion restores it.
 *
 * @param timestamp of the list, which is locked
 */
async function consumeNonce({ context, options, list }: Scope, key: string, timestamp: number): Promise<void> {
  const { securityState: state, clock } = options;
  const entry = { purpose, key };
  const held = nonceForm.test(key) ? await HeldEntry.hold({ state, clock }, entry, nameOf(list)) : undefined;
  if (held === undefined) throw staleToken();
  settleWith(context.unit, held);
  if (!(await held.isValid(timestamp))) throw staleToken();
}
