// GET and HEAD on a list: one page, or the number of objects.
import { runFromNow } from '../../base/steps.ts';
import type { JoinedEntries } from '../../core/objects/page-text.ts';
import type { Page, PageText } from '../../contracts/storage.ts';
import { invalidParameters } from '../../core/errors.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import type { PagePosition, PageQuery } from '../../core/query/ast.ts';
import { issueOf } from '../../core/query/parameters.ts';
import type { ListQuery } from '../../core/query/resolve.ts';
import { isTimestampField } from '../../core/query/fields.ts';
import { positionInSteps } from '../../core/query/sort.ts';
import { bytesOfShared, findObjects, requireListAccess, type AskedList, type ListAccess } from '../access.ts';
import { announceRead } from '../events/announce.ts';
import type { ResponseHeaders, ServiceResponse } from '../exchange.ts';
import { findUnchanged, planAhead, planIndexedPage, readListQuery } from '../list-ahead.ts';
import { deprecationHeaders, readListParameters } from '../list-query.ts';
import { emptyPageBody, formatPage, listBody } from '../page-text.ts';
import { noteMissedDeletions, resyncHeader } from '../missed-deletions.ts';
import { warnOfFilters, warnOfIgnored } from '../warnings.ts';
import { refuseLive } from '../list-query.ts';
import { requireOpenList } from '../visibility.ts';
import { newNonce, nextPageUrl } from '../pages.ts';
import { isUnchanged, readPreconditions, requireMatch } from '../preconditions.ts';
import { cacheControl, notModified, timestampHeaders } from '../respond.ts';
import { reportFor, withIndexes } from '../list-indexes.ts';
import { findAbove, requireNoIssues, requireTimestamp, type LiveLists, type Scope } from '../scope.ts';
import { bindSearch, countMatches, searchPage, type BoundSearch, type FoundPage } from '../text-search.ts';
import { requireRoomForPage, requireRoomForText, roomForObjects } from '../stored-work.ts';
import { minToWalk, manyShared, readSharedPage } from '../shared-page.ts';

/** Responds with a page of the objects that the caller may see, or with their number for HEAD. */
export async function readList(scope: Scope): Promise<ServiceResponse> {
  const { context, options, list } = scope;
  const { reader } = context.unit;
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = context.request.headers;
  const needsClock = context.request.method === 'HEAD' || ifMatch !== undefined || ifNoneMatch !== undefined;
  requireOpenList(scope);
  const ahead = needsClock ? undefined : planAhead(scope);
  // All in parallel, but only callers with access learn that a parent is missing. The clock is read before the objects: read
  // after them, it would let the client assume that it has seen changes in between.
  const [access, above, clock, pageAhead] = await Promise.all([
    requireReadAccess(scope),
    findAbove(scope, reader),
    needsClock ? reader.storage.resourceTimestamp(list) : undefined,
    ahead === undefined ? undefined : PageAhead.read(scope, ahead.query, ahead.limit),
  ]);
  if (above.missing !== undefined) throw above.missing;
  const preconditions = readPreconditions(context);
  const parameters = ahead?.parameters ?? (await readListParameters(scope, 'list'));
  if (context.request.method === 'HEAD') refuseLive(context);
  requireNoIssues(scope);

  const headers = Object.assign(
    {},
    await cacheControl(scope),
    deprecationHeaders(parameters, options),
    warnOfIgnored(context.query),
  );
  if (parameters.live === 'sse') return requireLive(scope).follow(scope, access, parameters);
  if (preconditions.ifMatch !== undefined || preconditions.ifNoneMatch !== undefined) {
    const timestamp = clock ?? (await requireTimestamp(scope));
    if (isUnchanged(preconditions, timestamp)) return notModified(timestamp, headers);
    requireMatch(preconditions, timestamp);
  }
  const report = await reportFor(scope, parameters);
  const asked = ahead?.query ?? (await withIndexes(scope, above, { ...readListQuery(scope, parameters), report }));
  const bound = asked.text && (await bindSearch(scope, above, asked.text));
  if (context.request.method === 'HEAD') return countList(scope, access, asked, { headers, clock, bound });
  const { goneUnless } = asked;
  const query = goneUnless === undefined ? asked : { ...asked, goneUnless: { ...goneUnless, search: bound?.search } };
  if (bound !== undefined && goneUnless === undefined) return searchList(scope, access, query, { headers, bound });
  const isAll = access.ids === undefined && access.isPartial !== true;
  const isWhole = isAll && (pageAhead?.more === false || ahead?.limit === query.limit);
  if (!isWhole) pageAhead?.take();
  const page =
    access.isPartial === true
      ? await readManyShared(scope, query, headers)
      : await readPage(scope, access, query, { headers, firstPage: pageAhead?.take() });
  if (parameters.live === undefined || page.body !== emptyPageBody || page.headers[resyncHeader] !== undefined)
    return page;
  return requireLive(scope).wait(scope, parameters, page, readList);
}

/**
 * A page that is read before it is known to be needed. It is taken out once: one that is not needed may be long, and must not
 * stay in memory while the request waits for another one.
 */
class PageAhead {
  readonly more: boolean;
  #page: Page | PageText | undefined;

  private constructor(page: Page | PageText) {
    this.more = page.more;
    this.#page = page;
  }

  static async read(scope: Scope, query: ListQuery, limit: number): Promise<PageAhead> {
    return new PageAhead(await selectPage(scope, query, { ...query, limit }));
  }

  take(): Page | PageText | undefined {
    const page = this.#page;
    this.#page = undefined;
    return page;
  }
}

/** Returns what serves live updates, when settings allow them. */
function requireLive({ options: { live } }: Scope): LiveLists {
  if (live !== undefined) return live;
  throw invalidParameters([issueOf('_live', 'live updates are switched off here')]);
}

/** Reads a page for callers with permissions on single objects: by a lookup of few shared objects, or by a scan for many. */
async function readManyShared(scope: Scope, query: ListQuery, headers: ResponseHeaders): Promise<ServiceResponse> {
  const { kind, context, list } = scope;
  const { caller, ids, unit } = context;
  const asked = askedList(scope);
  const bound = kind.rules.read.entries?.bindList(ids) ?? [];
  const shared = {
    list,
    uri: asked.uri,
    permissions: [...new Set(bound.map(({ permission }) => permission))],
    principals: new Set(await caller.allPrincipals()),
  };
  const many = await findMany(scope, query);
  const some = many > minToWalk ? await findObjects(asked, caller, unit.reader, ids, many) : undefined;
  if (some !== undefined && some.length < many) {
    return readPage(scope, { ids: some }, query, { headers, firstPage: undefined });
  }
  const firstPage = await readSharedPage(unit.reader, shared, query, walkSlack * many);
  const found = firstPage === undefined ? await findObjects(asked, caller, unit.reader, ids) : [];
  return readPage(scope, { ids: found }, query, { headers, firstPage });
}

/** Factor by which a scan may exceed the expected number of entries before it ends without a page. */
const walkSlack = 4;

/** Checks the access of the caller to the list. */
export async function requireReadAccess(scope: Scope): Promise<ListAccess> {
  const { caller, ids, unit } = scope.context;
  return requireListAccess(askedList(scope), caller, unit.reader, ids, () => findManyShared(scope));
}

function askedList({ kind, context }: Scope): AskedList {
  const { caller, ids } = context;
  const { rules, declaration, idName } = kind;
  const mayBeEmpty = declaration.isListOpen === true && caller.userId !== undefined;
  const create = mayBeEmpty ? openToAll : rules.create;
  const requireRoom = roomForObjects(context, bytesOfShared);
  const { shows } = declaration;
  return { uri: kind.listUri(ids), idName, whole: rules.readList, create, own: rules.read, requireRoom, shows };
}

/** Returns the number of shared objects from which a scan may be faster; `undefined` when the list cannot be scanned. */
function findManyShared(scope: Scope): number | undefined {
  return scope.context.request.method === 'HEAD' || planIndexedPage(scope) === undefined ? undefined : minToWalk;
}

/** Expected number of entries of a poll, which usually finds less than its limit. */
const polledEntries = 100;

async function findMany({ context, list }: Scope, { filters, limit }: ListQuery): Promise<number> {
  const isPoll = filters.some(({ field }) => isTimestampField(field));
  const total = await context.unit.reader.storage.countAll(list, { filters: [] });
  return manyShared(isPoll ? Math.min(limit, polledEntries) : limit, total);
}

/** Replaces the permission to create for lists that never refuse access. */
const openToAll = { principals: new Set<Principal>(), entries: undefined, authenticated: true };

interface CountOptions {
  readonly headers: ResponseHeaders;
  readonly clock: number | undefined;
  readonly bound: BoundSearch | undefined;
}

async function countList(
  scope: Scope,
  { ids }: ListAccess,
  { filters, indexes, report, budget }: ListQuery,
  { headers, clock, bound }: CountOptions,
): Promise<ServiceResponse> {
  const timestamp = clock ?? (await requireTimestamp(scope));
  // Tombstones are never counted, even when filters select them.
  await announceRead(scope, [], timestamp);
  const { storage } = scope.context.unit.reader;
  const count =
    bound === undefined
      ? await storage.countAll(scope.list, { filters, ids, indexes, report, budget })
      : await countMatches(storage, scope.list, { filters, ids, report, budget }, bound);
  if (report !== undefined) headers['Query-Plan'] = report.format();
  if (count === 0) warnOfFilters(headers, scope.context.query);
  const total = String(count);
  return {
    status: 200,
    headers: { ...timestampHeaders(timestamp, headers), 'Total-Objects': total, 'Total-Records': total },
    body: '',
  };
}

/** Responds with a page of the objects that match a text query. */
async function searchList(
  scope: Scope,
  access: ListAccess,
  query: ListQuery,
  { headers, bound }: { readonly headers: ResponseHeaders; readonly bound: BoundSearch },
): Promise<ServiceResponse> {
  const { caller, ids: pathIds, unit } = scope.context;
  const ids = access.isPartial ? await findObjects(askedList(scope), caller, unit.reader, pathIds) : access.ids;
  const search = (): Promise<FoundPage> => searchPage(unit.reader.storage, scope.list, { ...query, ids }, bound);
  let found = await search();
  if (found.timestamp === undefined) {
    await requireTimestamp(scope);
    found = await search();
  }
  return readPage(scope, { ids }, query, { headers, firstPage: found, position: found.position });
}

interface ReadOptions {
  readonly headers: ResponseHeaders;
  readonly firstPage: Page | PageText | undefined;
  /** Position of the last entry of the first page; default: that of its fields. */
  readonly position?: PagePosition | undefined;
}

async function readPage(
  scope: Scope,
  { ids }: ListAccess,
  query: ListQuery,
  { headers, firstPage, position: found }: ReadOptions,
): Promise<ServiceResponse> {
  const { context, options } = scope;
  const selected: PageQuery = ids === undefined ? query : { ...query, ids };
  let page = firstPage ?? (await findUnchanged(scope, query)) ?? (await selectPage(scope, query, selected));
  if (page.timestamp === undefined) {
    // The list now has a clock, possibly from its first objects, which have to be in the response.
    await requireTimestamp(scope);
    page = await selectPage(scope, query, selected);
  }
  if ('text' in page) requireRoomForText(context, page.text);
  const timestamp = page.timestamp ?? (await requireTimestamp(scope));
  const all = timestampHeaders(timestamp, headers);
  if (query.report !== undefined) all['Query-Plan'] = query.report.format();
  noteMissedDeletions(all, page.horizon, query.filters, scope);
  const { text, count, more, position } =
    'text' in page
      ? { ...page, position: await endOf(page, query) }
      : await showEntries(scope, page, query, { timestamp, position: found });
  if (count === 0) warnOfFilters(all, context.query);
  if (more && position !== undefined) {
    const { sort, limit, token } = query;
    const next = { sort, limit, position, offset: (token?.offset ?? 0) + count };
    all['Next-Page'] = nextPageUrl(context, options, next, newNonce());
  }
  return { status: 200, headers: all, body: listBody('{"data":[', [text]) };
}

/** Reads a page as response text when objects are shown as stored and no subscriber needs them, else as entries. */
function selectPage(
  scope: Scope,
  { projection, goneUnless }: ListQuery,
  selected: PageQuery,
): Promise<Page | PageText> {
  const { context, kind, list } = scope;
  const { storage } = context.unit.reader;
  const isAsStored = projection === undefined && goneUnless === undefined && kind.declaration.present === undefined;
  const isPlain = isAsStored && !context.unit.hasSubscribers(kind.name, 'read');
  return isPlain ? storage.listText(list, selected) : storage.listAll(list, selected);
}

/** The content of a page, and the position of its end in the order of the query. */
interface Shown extends Omit<JoinedEntries, 'last'> {
  readonly position: PagePosition | undefined;
}

/** Returns the position of the last entry of a page that others follow. */
async function endOf(
  { more, last }: Pick<PageText, 'more' | 'last'>,
  { sort }: ListQuery,
): Promise<PagePosition | undefined> {
  return more && last !== undefined ? runFromNow(positionInSteps(last, sort), 'normal') : undefined;
}

async function showEntries(
  scope: Scope,
  page: Page,
  query: ListQuery,
  { timestamp, position: found }: { readonly timestamp: number; readonly position: PagePosition | undefined },
): Promise<Shown> {
  const { entries, more } = page;
  await announceRead(scope, entries, timestamp);
  const room = requireRoomForPage(scope.context, entries);
  if (room !== undefined) await room;
  const position = found ?? (await endOf({ more, last: entries.at(-1) }, query));
  const formatting = runFromNow(formatPage(scope, entries, query), 'normal');
  const text = formatting instanceof Promise ? await formatting : formatting;
  return { text, count: entries.length, more, position };
}
