// DELETE on a list: one page of the objects that the caller may delete.
import { formatEntry } from '../../core/objects/stored.ts';
import { positionOf } from '../../core/query/sort.ts';
import { requireListAccess } from '../access.ts';
import { announceRead } from '../events/announce.ts';
import type { ServiceResponse } from '../exchange.ts';
import { deprecationHeaders, readListParameters, readQuery, staleToken } from '../list-query.ts';
import { requireOpenList } from '../ownership.ts';
import { newNonce, nextPageUrl } from '../pages.ts';
import { readPreconditions, requireMatch } from '../preconditions.ts';
import { timestampHeaders } from '../respond.ts';
import { findMissingHeldParent, findMissingParent, requireNoIssues, type Scope } from '../scope.ts';
import { finishDeletions } from './remove.ts';

/** Deletes what the filters select and answers with the tombstones, in the order of the selection. */
export async function removeList(scope: Scope): Promise<ServiceResponse> {
  const { kind, context, list, options } = scope;
  const { reader } = context.session;
  const { rules } = kind;
  requireOpenList(scope);
  // Asked for together, but a missing parent is told only to those who have access.
  const [access, complaint] = await Promise.all([
    requireListAccess(
      {
        uri: kind.listUri(context.ids),
        idName: kind.idName,
        whole: rules.writeList,
        create: rules.create,
        own: rules.write,
      },
      context.caller,
      reader,
      context.ids,
    ),
    findMissingParent(scope, reader),
  ]);
  if (complaint !== undefined) throw complaint;
  const preconditions = readPreconditions(context);
  const parameters = await readListParameters(scope, 'deletion');
  requireNoIssues(scope);
  const writer = await context.session.writer();
  const [orphaned, locked] = await Promise.all([findMissingHeldParent(scope, writer), writer.storage.lock(list)]);
  if (orphaned !== undefined) throw orphaned;
  const timestamp = locked.timestamp ?? (await writer.storage.touch(list));
  requireMatch(preconditions, timestamp);
  const query = readQuery(parameters, context, options, kind.traits);
  if (query.token !== undefined) await consumeNonce(scope, query.token.nonce);

  const { filters, sort, after, limit } = query;
  const { deletions, more } = await writer.storage.deleteAll(list, { filters, sort, after, limit, ids: access.ids });
  await finishDeletions(scope, writer, timestamp, deletions);
  if (deletions.length === 0) await announceRead(scope, [], timestamp);
  const newest = deletions.reduce((highest, { tombstone }) => Math.max(highest, tombstone.lastModified), 0);
  const headers = timestampHeaders(newest === 0 ? timestamp : newest, deprecationHeaders(parameters, options));
  const last = deletions.at(-1);
  if (more && last !== undefined) {
    const nonce = await issueNonce(scope);
    const offset = (query.token?.offset ?? 0) + deletions.length;
    const next = { sort, limit, position: positionOf(last.old, sort), offset };
    headers['Next-Page'] = nextPageUrl(context, options, next, nonce);
  }
  const body = `{"data":[${deletions.map(({ tombstone }) => formatEntry(tombstone)).join(',')}]}`;
  return { status: 200, headers, body };
}

const purpose = 'list-deletion';

/** @throws SecurityStateFull when the address of the client has too many deletions under way */
async function issueNonce({ context, options }: Scope): Promise<string> {
  const { securityState, tokenValiditySeconds, requesterOf } = options;
  const key = newNonce();
  const requester = requesterOf(context.request.clientAddress);
  await securityState.put({ purpose, key, requester }, issued, tokenValiditySeconds);
  context.session.onAbandon(() => securityState.remove({ purpose, key }));
  return key;
}

const issued = '1';
/** A token may hold any text. */
const nonceForm = /^[\w-]{1,100}$/;

/** The token of a deletion serves once: repeating it must not delete what came later. A deletion undone gives it back. */
async function consumeNonce({ context, options }: Scope, key: string): Promise<void> {
  const taken = nonceForm.test(key) ? await options.securityState.take({ purpose, key }, issued) : undefined;
  if (taken === undefined) throw staleToken();
  context.session.onAbandon(() => options.securityState.restore(taken));
}
