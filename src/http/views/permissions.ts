// `/permissions`: the permissions of the caller, object by object. A virtual list, computed from the access-control entries and
// settings for each request.
import type { JsonObject } from '../../base/json.ts';
import { pause } from '../../base/steps.ts';
import { storedIds, type PathIds } from '../../core/objects/object-id.ts';
import { createUriParser, storedUri, type ObjectUri } from '../../core/objects/uris.ts';
import { listNameOf } from '../../core/permissions/object-pattern.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import type { SortKey } from '../../core/query/ast.ts';
import { idField, parseField } from '../../core/query/fields.ts';
import { matchesValue } from '../../core/query/evaluate.ts';
import type { ListQuery, ListTraits } from '../../core/query/resolve.ts';
import { invalidParameters } from '../../core/errors.ts';
import { isConfirmed, isNamedBySettings, refusal, type AccessRule } from '../../engine/access.ts';
import { completeCaller, type Caller } from '../../engine/caller.ts';
import type { CompiledKind } from '../../engine/compiled-kind.ts';
import type { Context } from '../../engine/context.ts';
import { objectWith, type OperationDescription } from '../../engine/description.ts';
import type { Endpoint } from '../../engine/endpoint.ts';
import type { ResponseHeaders, ServiceResponse } from '../../engine/exchange.ts';
import { aboutFilters, listParameters, pageHeaders, totalHeaders } from '../../engine/list-parameters.ts';
import { readParameters, readQuery } from '../../engine/list-query.ts';
import { ownsLists } from '../../engine/owned-lists.ts';
import type { EngineOptions } from '../../engine/scope.ts';
import { roomFor, roomForObjects } from '../../engine/stored-work.ts';
import { virtualPage } from '../../engine/virtual-list.ts';
import { oldestFirst, walkIds } from '../../engine/walk.ts';
import { warningHeader } from '../../engine/warnings.ts';

export interface PermissionsOptions {
  readonly kinds: ReadonlyMap<string, CompiledKind>;
  readonly engine: EngineOptions;
  /** Principals that may read the list. */
  readonly readers: ReadonlySet<Principal>;
}

const uriField = parseField('uri');
const byUri: SortKey = { field: uriField, direction: 'descending' };

export function permissionsEndpoint(options: PermissionsOptions): Endpoint {
  const shareable = [...options.kinds.values()].filter(
    ({ isShareable, declaration }) => isShareable && declaration.hasAddresses !== false,
  );
  const traits: ListTraits = {
    knownFields: ['uri', 'resource_name', 'id', ...shareable.map(({ idName }) => idName)],
    arrayFields: ['permissions'],
    textFields: ['uri', idField.name, ...shareable.map(({ idName }) => idName)],
    uniqueFields: ['uri'],
    tieBreakers: [byUri],
    ignoreTimestamps: true,
  };
  const handle = (context: Context): Promise<ServiceResponse> => listPermissions(options, shareable, traits, context);
  const exposes = ['Next-Page', 'Cache-Control', 'Expires', 'Pragma', warningHeader];
  return {
    name: 'permissions-plural',
    path: '/permissions',
    isResource: true,
    operations: {
      GET: { id: 'get_permissionss', exposes, describe: () => describeGet(shareable), handle },
      HEAD: {
        id: 'head_permissionss',
        exposes: [...exposes, 'Total-Objects', 'Total-Records'],
        describe: describeHead,
        handle,
      },
    },
  };
}

function describeGet(kinds: readonly CompiledKind[]): OperationDescription {
  const text: JsonObject = { type: 'string' };
  const ids = Object.fromEntries(kinds.map(({ idName }) => [idName, text]));
  const entry: JsonObject = {
    type: 'object',
    properties: {
      uri: text,
      resource_name: text,
      id: { ...text, description: 'Absent on the entry of the root.' },
      ...ids,
      permissions: { type: 'array', items: text },
    },
    required: ['uri', 'resource_name', 'permissions'],
  };
  const schema = objectWith({ data: { type: 'array', items: entry } });
  return {
    summary: 'Returns the permissions of the caller, one entry for each object.',
    details: aboutFilters,
    parameters: listParameters,
    responses: { 200: { description: 'The permissions.', schema, headers: pageHeaders } },
  };
}

function describeHead(): OperationDescription {
  return {
    summary: 'Counts the objects on which the caller has permissions.',
    details: aboutFilters,
    parameters: listParameters,
    responses: { 200: { description: 'The totals, in headers.', headers: totalHeaders } },
  };
}

async function listPermissions(
  options: PermissionsOptions,
  kinds: readonly CompiledKind[],
  traits: ListTraits,
  context: Context,
): Promise<ServiceResponse> {
  const { issues } = context;
  // All entries depend on groups.
  const caller = await completeCaller(context.caller);
  if (!isNamedBySettings({ principals: options.readers }, caller)) throw refusal(caller);
  const parameters = readParameters(context, 'list');
  if (issues.length > 0) throw invalidParameters(issues);
  const query = readQuery(parameters, context, options.engine, traits);
  const entries = await collectEntries(options, selectKinds(kinds, query), caller, context);
  // The content changes without a timestamp, so the response has no ETag and must not be cached.
  const headers: ResponseHeaders = { 'Cache-Control': 'no-cache, no-store' };
  return virtualPage(context, options.engine, entries, query, headers);
}

interface SelectedKinds {
  readonly all: readonly CompiledKind[];
  /** Those whose objects the filters can match; `undefined`: all. */
  readonly wanted: readonly CompiledKind[] | undefined;
}

/** Selects kinds by the filters on `resource_name`, so that objects of others are not read: records are often very many. */
function selectKinds(all: readonly CompiledKind[], { filters }: ListQuery): SelectedKinds {
  const onKind = filters.filter(({ field }) => field?.name === 'resource_name');
  if (onKind.length === 0) return { all, wanted: undefined };
  return { all, wanted: all.filter(({ name }) => matchesValue({ resource_name: name }, onKind)) };
}

/** Bytes per object: its URI, its permissions, its entry of the list, and the text of the entry. */
const bytesOfObject = 800;

/** Number of objects that are looked at before other requests run. */
const objectsPerTurn = 500;

/** Number of objects between two memory reservations. */
const objectsPerReservation = 2000;

async function collectEntries(
  options: PermissionsOptions,
  { all: kinds, wanted }: SelectedKinds,
  caller: Caller,
  context: Context,
): Promise<readonly JsonObject[]> {
  const { reader } = context.unit;
  const requireRoom = roomForObjects(context, bytesOfObject);
  const lists = wanted?.map(({ uriTemplate }) => listNameOf(uriTemplate));
  const all = new Map(await reader.permission.getAccessibleObjects(caller.knownPrincipals, { lists, requireRoom }));
  for (const kind of wanted ?? kinds) {
    const granted = entriesBySettings(kinds, kind, caller);
    if (granted.length === 0) continue;
    const bySettings = new Set(granted);
    for await (const uri of listUris(kind, context)) {
      const names = all.get(uri);
      all.set(uri, names === undefined ? bySettings : new Set([...names, ...granted]));
      if (all.size % objectsPerReservation === 0) requireRoom?.(all.size);
    }
  }
  const parse = createUriParser(kinds.map(({ name, uriTemplate }) => [name, uriTemplate]));
  const entries: JsonObject[] = [];
  let looked = 0;
  for (const [uri, names] of all) {
    if (++looked % objectsPerTurn === 0) await pause('normal');
    const address = parse(uri);
    const kind = address === undefined ? undefined : options.kinds.get(address.kind);
    if (address === undefined || kind === undefined) continue;
    const ids = storedIds(address.ids);
    // Objects in lists of other users have no path for the caller.
    if (kind.owned.length > 0 && !ownsLists(kind.owned, ids, caller)) continue;
    const permissions: string[] = [];
    for (const name of heldPermissions(kind, names)) {
      if (await isConfirmed(ruleFor(options, kind, name), caller, reader, ids)) permissions.push(name);
    }
    if (permissions.length === 0) continue;
    const { shownUri, shownIds } = shownAddress(kind, uri, ids);
    entries.push({ uri: shownUri, resource_name: kind.name, id: ids[kind.idName]!, ...shownIds, permissions });
  }
  const root: string[] = [];
  for (const kind of rootKinds(kinds, caller)) {
    if (await isConfirmed(kind.rules.create, caller, reader, {})) root.push(`${kind.name}:create`);
  }
  if (root.length > 0) entries.push({ uri: '/', resource_name: 'root', permissions: root });
  return entries;
}

/** Returns the path of the object for the caller, and its ids, without those of owners. */
function shownAddress(
  kind: CompiledKind,
  uri: ObjectUri,
  ids: PathIds,
): { readonly shownUri: string; readonly shownIds: PathIds } {
  if (kind.owned.length === 0) return { shownUri: uri, shownIds: ids };
  const owners = new Set(kind.owned.map(({ ownerName }) => ownerName));
  const shownIds = Object.fromEntries(Object.entries(ids).filter(([name]) => !owners.has(name)));
  return { shownUri: kind.address(ids), shownIds };
}

/** Returns all permissions that entries on an object grant on the object itself. */
function heldPermissions(kind: CompiledKind, entries: ReadonlySet<string>): readonly string[] {
  const granted = kind.declaration.permissions?.granted ?? {};
  return Object.keys(granted).filter((permission) =>
    granted[permission]!.some((granting) => granting.kind === kind.name && entries.has(granting.entry)),
  );
}

/** Returns the entries that settings grant on every object of a kind: `<kind>_read`, `<kind>_write`, `<child>_create`. */
function entriesBySettings(kinds: readonly CompiledKind[], kind: CompiledKind, caller: Caller): readonly string[] {
  // Records, and lists of all users, are too many to list for a permission on all of them.
  const children = kinds.filter(({ parent }) => parent === kind);
  if ((children.length === 0 && kind.name === 'record') || kind.owned.length > 0) return [];
  const granting = new Map([
    ['read', isNamedBy(kind, 'read', caller)],
    ['write', isNamedBy(kind, 'write', caller)],
    // To write all objects of a kind includes to create them.
    ...children.map(
      (child) => [`${child.name}:create`, ['create', 'write'].some((name) => isNamedBy(child, name, caller))] as const,
    ),
  ]);
  return kind.permissions.filter((entry) => granting.get(entry) === true);
}

/** Returns the kinds that the caller may create at the root. */
function rootKinds(kinds: readonly CompiledKind[], caller: Caller): readonly CompiledKind[] {
  return kinds.filter((kind) => kind.parent === undefined && isNamedBy(kind, 'create', caller));
}

/** Whether a setting such as `collection_create_principals` names the caller. */
function isNamedBy({ name, settingPrincipals }: CompiledKind, permission: string, caller: Caller): boolean {
  return settingPrincipals(`${name}_${permission}_principals`).some((principal) =>
    caller.knownPrincipals.includes(principal),
  );
}

/** Returns the rule that applies when a permission on an object of the kind is used. */
function ruleFor({ kinds }: PermissionsOptions, kind: CompiledKind, permission: string): AccessRule {
  const created = permission.endsWith(':create') ? kinds.get(permission.slice(0, -':create'.length)) : undefined;
  if (created !== undefined) return created.rules.create;
  return permission === kind.declaration.readPermission ? kind.rules.read : kind.rule(permission);
}

/** Returns the URIs of all objects of a kind. */
async function* listUris(kind: CompiledKind, context: Context): AsyncGenerator<ObjectUri, void, undefined> {
  const { storage } = context.unit.reader;
  const room = roomFor(context, 'show');
  const collection = kind.declaration.path.slice(kind.declaration.path.lastIndexOf('/'));
  for (const parent of await storage.listParents(kind.name)) {
    const list = { kind: kind.name, parent };
    // A change in the meantime moves an object to the end, where it is found again.
    for await (const id of walkIds(storage, list, { filters: [] }, room, oldestFirst)) {
      yield storedUri(`${parent}${collection}/${id}`);
    }
  }
}
