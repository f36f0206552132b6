// `DELETE /__user_data__/{principal}`: deletes the objects that only this user can write, and removes the user from all groups
// and permissions. Only for administrators from the settings.
import { getKey, setKey, type JsonValue, type MutableJsonObject } from '../../base/json.ts';
import { compareLists } from '../../core/objects/list-order.ts';
import { storedIds, type PathIds } from '../../core/objects/object-id.ts';
import { formatAttributes, type ListKey } from '../../core/objects/stored.ts';
import { createUriParser, type ObjectUri } from '../../core/objects/uris.ts';
import { storedUserId, type Principal, type UserId } from '../../core/permissions/principals.ts';
import type { PageQuery } from '../../core/query/ast.ts';
import { compareText } from '../../core/query/compare.ts';
import { isNamed, refusal } from '../../engine/access.ts';
import { anonymous } from '../../engine/caller.ts';
import type { CompiledKind } from '../../engine/compiled-kind.ts';
import type { Context } from '../../engine/context.ts';
import { objectWith, type OperationDescription } from '../../engine/description.ts';
import { plainText, type Endpoint } from '../../engine/endpoint.ts';
import { announceChanges } from '../../engine/events/announce.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';
import type { Change } from '../../engine/events/event.ts';
import type { EngineOptions, Scope } from '../../engine/scope.ts';
import type { Writer } from '../../engine/unit-of-work.ts';
import { finishDeletions } from '../../engine/delete-objects.ts';
import { byId, pageBytes } from '../../engine/walk.ts';

export interface UserDataOptions {
  readonly kinds: ReadonlyMap<string, CompiledKind>;
  readonly engine: EngineOptions;
  /** Principals that may delete user data. */
  readonly deleters: ReadonlySet<Principal>;
}

/** Objects of one list to delete. */
interface OwnedObjects {
  readonly kind: CompiledKind;
  readonly list: ListKey;
  /** Ids in the path of the list. */
  readonly above: PathIds;
  readonly ids: string[];
}

export function userDataEndpoints(options: UserDataOptions): readonly Endpoint[] {
  return [
    {
      name: 'user-data',
      tag: 'user-datas',
      path: '/__user_data__/{principal}',
      parameters: { principal: plainText },
      isResource: false,
      operations: {
        DELETE: {
          id: 'delete_user_data',
          describe: describeUserData,
          handle: (context) => deleteUserData(options, context),
        },
      },
    },
    // The list has no methods: the 405 shows that only the principal is missing.
    { name: 'user-data-plural', tag: 'user-datas', path: '/__user_data__', isResource: false, operations: {} },
  ];
}

function describeUserData(): OperationDescription {
  const schema = objectWith({ data: objectWith({ principal: { type: 'string' } }) });
  return {
    summary: 'Deletes the objects that only the user can write, and removes the user from groups and permissions.',
    responses: { 200: { description: 'The user.', schema } },
    errors: [409],
  };
}

async function deleteUserData(options: UserDataOptions, context: Context): Promise<ServiceResponse> {
  const { caller, parameters, unit } = context;
  if (!(await isNamed({ principals: options.deleters }, caller))) throw refusal(caller);
  const principal = storedUserId(parameters['principal']!);
  const writer = await unit.writer();
  await lockMentions(options, principal, writer);
  for (const list of await findOwned(options, principal, writer)) await deleteObjects(options, context, writer, list);
  await leaveGroups(options, context, principal, writer);
  await writer.permission.removePrincipalFromAces(principal);
  await writer.permission.removePrincipal(principal);
  return jsonResponse(200, { data: { principal } });
}

/** An object with entries. */
interface Place {
  readonly kind: CompiledKind;
  readonly list: ListKey;
  /** Ids in the path of the list. */
  readonly above: PathIds;
  readonly id: string;
}

/** Returns a function from the URI of an object with permissions to its place, and from any other text to `undefined`. */
function placeParser({ kinds }: UserDataOptions): (uri: string) => Place | undefined {
  const shareable = [...kinds.values()].filter(({ isShareable }) => isShareable);
  const parse = createUriParser(shareable.map(({ name, uriTemplate }) => [name, uriTemplate]));
  return (uri) => {
    const address = parse(uri);
    const kind = address === undefined ? undefined : kinds.get(address.kind);
    if (address === undefined || kind === undefined) return undefined;
    const { [kind.idName]: id = '', ...above } = storedIds(address.ids);
    return { kind, list: kind.listKey(above, anonymous), above, id };
  };
}

/**
 * Locks all lists with entries of the user, because concurrent changes of entries could restore the removed ones. Repeats the
 * search, because new entries may appear while it waits for locks.
 */
async function lockMentions(
  options: UserDataOptions,
  principal: Principal,
  { storage, permission }: Writer,
): Promise<void> {
  const placeOf = placeParser(options);
  const locked = new Set<string>();
  for (;;) {
    const lists = new Map<string, ListKey>();
    for (const uri of (await permission.getAccessibleObjects([principal])).keys()) {
      const place = placeOf(uri);
      const listUri = place?.kind.listUri(place.above);
      if (place !== undefined && listUri !== undefined && !locked.has(listUri)) lists.set(listUri, place.list);
    }
    if (lists.size === 0) return;
    for (const list of [...lists.values()].sort(compareLists)) await storage.lock(list);
    for (const listUri of lists.keys()) locked.add(listUri);
  }
}

/** Returns the objects that only the user can write, by list, parents first. Their descendants are deleted with them. */
async function findOwned(
  options: UserDataOptions,
  principal: Principal,
  { permission }: Writer,
): Promise<readonly OwnedObjects[]> {
  const placeOf = placeParser(options);
  const written = [...(await permission.getAccessibleObjects([principal]))]
    .filter(([, names]) => names.has('write'))
    .map(([uri]) => uri);
  const entries = await permission.getObjectsPermissions(written, ['write']);
  // Shorter paths first, so that an object comes before its descendants.
  const owned = written.filter((_, index) => entries[index]?.['write']?.length === 1).sort(byDepth);
  const gone = new Set<string>();
  const lists = new Map<string, OwnedObjects>();
  for (const uri of owned) {
    const place = placeOf(uri);
    if (place === undefined || ancestorsOf(uri).some((ancestor) => gone.has(ancestor))) continue;
    gone.add(uri);
    const { kind, list, above, id } = place;
    const listUri = kind.listUri(above);
    const objects = lists.get(listUri) ?? { kind, list, above, ids: [] };
    objects.ids.push(id);
    lists.set(listUri, objects);
  }
  return [...lists.values()];
}

function byDepth(a: string, b: string): number {
  return a.split('/').length - b.split('/').length || compareText(a, b);
}

/** Returns all proper prefixes of a path; those like `/buckets/a` and `/buckets/a/collections/b` are objects. */
function ancestorsOf(uri: ObjectUri): readonly string[] {
  const segments = uri.split('/');
  return segments.slice(2, -1).map((_, index) => segments.slice(0, index + 2).join('/'));
}

/** Ids per query. */
const batchSize = 500;

async function deleteObjects(
  { engine }: UserDataOptions,
  context: Context,
  writer: Writer,
  { kind, list, above, ids }: OwnedObjects,
): Promise<void> {
  const scope: Scope = { kind, list, options: engine, context: { ...context, ids: above } };
  const { timestamp: clock } = await writer.storage.lock(list);
  for (let start = 0; start < ids.length; start += batchSize) {
    const query: PageQuery = {
      filters: [],
      sort: byId,
      limit: batchSize,
      ids: ids.slice(start, start + batchSize),
      maxBytes: pageBytes,
    };
    for (let isOver = false; !isOver;) {
      const { deletions, more } = await writer.storage.deleteAll(list, query);
      await finishDeletions(scope, writer, clock, deletions);
      isOver = !more;
    }
  }
}

/** Removes the user from the members of every group. */
async function leaveGroups(
  options: UserDataOptions,
  context: Context,
  principal: UserId,
  writer: Writer,
): Promise<void> {
  const { kinds } = options;
  const parse = createUriParser(Array.from(kinds.values(), ({ name, uriTemplate }) => [name, uriTemplate]));
  const held = await writer.permission.getUserPrincipals(principal);
  for (const uri of [...held].sort(compareText)) {
    const address = parse(uri);
    const group = address?.kind === 'group' ? kinds.get('group') : undefined;
    if (address !== undefined && group !== undefined) {
      const ids = storedIds(address.ids);
      const list = group.listKey(ids, anonymous);
      const scope: Scope = { kind: group, list, options: options.engine, context: { ...context, ids } };
      await removeMember(scope, address.uri, principal, writer);
    }
    await writer.permission.removeUserPrincipal(principal, uri);
  }
}

/** Removes a member from a group, without validation: a schema must not prevent the deletion. */
async function removeMember(scope: Scope, uri: ObjectUri, principal: Principal, writer: Writer): Promise<void> {
  const { kind, list, context } = scope;
  const { caller, ids } = context;
  const { object: old, timestamp: clock } = await writer.storage.lock(list, ids[kind.idName]);
  const members: JsonValue | undefined = old === undefined ? undefined : getKey(old.attributes, 'members');
  if (old === undefined || !Array.isArray(members) || !members.includes(principal)) return;
  const attributes: MutableJsonObject = { ...old.attributes };
  const kept = members.filter((member: JsonValue) => member !== principal);
  setKey(attributes, 'members', kept);
  const changed = await writer.storage.update(list, old.id, formatAttributes(attributes));
  const permissions = await writer.permission.getObjectPermissions(uri);
  const change: Change = { action: 'update', kind: kind.name, list, uri, ids, old, new: changed, permissions, caller };
  await kind.declaration.afterChange?.(change, writer);
  announceChanges(scope, clock, [change]);
}
