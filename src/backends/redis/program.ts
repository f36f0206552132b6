// Turns the contents of a unit of work into the arguments of the commit script.
import { isTombstone, type StoredEntry } from '../../core/objects/stored.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import { formatMembers } from './index-members.ts';
import { dirname, escapeTag, parentOf, type Keys } from './keys.ts';
import type { ListOverlay } from './list-overlay.ts';
import type { EntryChange, MembershipChange } from './permission-log.ts';
import type { RequiredObject, UnitContents } from './unit.ts';

/** Operations of the commit script, one after another, each a name and its arguments. */
export type Program = string[];

/** Returns the conditions of the commit. */
export function verifications({ overlays, required, isFlushed }: UnitContents, keys: Keys): Program {
  const program: Program = [];
  if (!isFlushed) {
    for (const { list, version } of overlays) program.push('version', keys.meta(list), keys.lease(list)[0], version);
  }
  for (const each of required) program.push(...requirement(each, keys).operation);
  return program;
}

/** Returns the condition that an object exists, or is as it was read, and the key that it touches. */
export function requirement(
  { list, id, lastModified }: RequiredObject,
  keys: Keys,
): { readonly operation: Program; readonly key: string } {
  const key = keys.list(list)[2];
  return { operation: ['object', key, id, String(lastModified ?? '')], key };
}

/** Returns all writes of the unit, for a server that holds every slot. */
export function writesEverywhere(contents: UnitContents, keys: Keys): Program {
  const { overlays, cascades, isFlushed, permissions } = contents;
  const program: Program = [];
  if (isFlushed) program.push('dropAll', ...counted(keys.shards), 'countFlush', keys.schema());
  for (const uri of cascades) program.push('emptyBelow', uri, ...counted(keys.shardsOf(`${uri}/`)));
  // One argument at a time: a large list makes more arguments than one call can take.
  const add = (operations: Program): void => {
    for (const argument of operations) program.push(argument);
  };
  for (const overlay of overlays) {
    if (!overlay.isDirty) continue;
    add(registration(overlay, keys));
    add(listWrites(overlay, keys));
  }
  for (const change of permissions.entries) add(entryWrites(change, keys));
  for (const change of permissions.memberships) add(membershipWrites(change, keys));
  add(releases(overlays, keys));
  return program;
}

/** Returns the operations that release the leases of the overlays. */
export function releases(overlays: readonly ListOverlay[], keys: Keys): Program {
  return overlays.flatMap(({ list, isLeased }) => (isLeased ? ['release', keys.lease(list)[0]] : []));
}

/** Returns the registration of a new list, with or before its first write. */
function registration({ list, isNew }: ListOverlay, keys: Keys): Program {
  return isNew ? ['register', keys.shard(list.parent), list.kind, escapeTag(list.parent)] : [];
}

/** Returns the writes of what an overlay has changed. */
export function listWrites(overlay: ListOverlay, keys: Keys): Program {
  const { list, state, isEmptied, isHorizonRaised, purgedBelow, changed } = overlay;
  const purged = purgedBelow === -Infinity ? '' : String(purgedBelow);
  const horizon = isEmptied || isHorizonRaised ? String(state.horizon) : '';
  const head = [String(state.clock ?? ''), horizon, isEmptied ? '1' : '0', purged, String(changed.size)];
  const program: Program = ['list', ...keys.list(list), ...keys.indexes(list), ...head];
  for (const [id, entry] of changed) program.push(...formatEntry(id, entry));
  return program;
}

/** Returns the emptying of what the server has of a list, before an overlay writes it. */
export function emptyingOf({ list, state }: ListOverlay, keys: Keys): Program {
  return ['list', ...keys.list(list), ...keys.indexes(list), '', String(state.horizon), '1', '', '0'];
}

function formatEntry(id: string, entry: StoredEntry | undefined): readonly string[] {
  if (entry === undefined) return ['none', id];
  const timestamp = String(entry.lastModified);
  return isTombstone(entry) ? ['dead', id, timestamp] : ['live', id, timestamp, entry.text, formatMembers(entry)];
}

function entryWrites(change: EntryChange, keys: Keys): Program {
  switch (change.kind) {
    case 'grant':
    case 'replace':
      return [...announcements(change, keys), ...localEntryWrites(change)];
    case 'revoke':
    case 'clear':
      return localEntryWrites(change);
    case 'clearBelow': {
      const { uri } = change;
      return ['clearBelow', uri, dirname(uri), ...counted(keys.shardsOf(`${uri}/`))];
    }
    case 'withdraw':
      return ['withdraw', change.principal];
    case 'clearAll':
      return ['clearAll', ...counted(keys.shards)];
  }
}

type ObjectChange = Extract<EntryChange, { readonly objectId: ObjectUri }>;

/** Returns the operations that register a place and its principals, which precede the permission entries. */
function announcements(change: ObjectChange, keys: Keys): Program {
  const principals = principalsIn(change);
  if (principals.length === 0) return [];
  const parent = parentOf(change.objectId);
  const program: Program = ['announce', keys.shard(parent), escapeTag(parent)];
  for (const principal of principals) program.push('announcePrincipal', principal, escapeTag(parent));
  return program;
}

/** Returns the principals that a change adds to permission entries. */
export function principalsIn(change: ObjectChange): readonly Principal[] {
  if (change.kind === 'grant') return change.principals;
  return change.kind === 'replace' ? [...new Set(Object.values(change.permissions).flat())] : [];
}

/** Returns the change of the permission entries of one object, for the slot of its parent. */
export function localEntryWrites(change: ObjectChange): Program {
  const target = [change.kind, escapeTag(parentOf(change.objectId)), change.objectId];
  switch (change.kind) {
    case 'clear':
      return target;
    case 'revoke':
      return [...target, change.permission, change.principal];
    case 'grant':
      return [...target, change.permission, ...counted(change.principals)];
    case 'replace': {
      const entries = Object.entries(change.permissions);
      const args = entries.flatMap(([permission, principals]) => [permission, ...counted([...new Set(principals)])]);
      return [...target, String(entries.length), ...args];
    }
  }
}

function membershipWrites(change: MembershipChange, keys: Keys): Program {
  switch (change.kind) {
    case 'expelBelow':
      return ['expelBelow', change.prefix, ...counted(keys.shardsOf(change.prefix))];
    case 'clearMemberships':
      return ['clearMemberships', ...counted(keys.shards)];
    default:
      return localMembershipWrites(change, keys);
  }
}

type PrincipalChange = Extract<MembershipChange, { readonly principal: Principal }>;

/** Returns the change of the users of one principal, for the slot of its group. */
export function localMembershipWrites(change: PrincipalChange, keys: Keys): Program {
  switch (change.kind) {
    case 'admit':
      return ['admit', keys.shard(change.principal), change.principal, change.userId];
    case 'expel':
      return ['expel', change.userId, change.principal];
    case 'expelAll':
      return ['expelAll', change.principal];
  }
}

export function counted(values: readonly string[]): readonly string[] {
  return [String(values.length), ...values];
}

/** Outcome of a run of the commit script. With all but `done` nothing was written. */
export type Outcome =
  | 'done'
  /** A list was changed, or another process has a lease on it. */
  | 'conflict'
  /** An object above a list was changed or deleted. */
  | 'changed';

/** One run of the commit script on a cluster. */
export interface SlotProgram {
  readonly operations: Program;
  /** Every key that the operations touch. */
  readonly keys: readonly string[];
}

const nothing: SlotProgram = { operations: [], keys: [] };

/** Operations of the commit script by the parent whose slot they touch, in their order within each, with their keys. */
export class ProgramByParent {
  readonly #programs = new Map<string, { readonly operations: string[]; readonly keys: Set<string> }>();

  /**
   * Adds operations.
   *
   * @param keys every key that the operations touch, each with the hash tag of the parent
   */
  add(parent: string, operations: Program, keys: readonly string[]): void {
    if (operations.length === 0) return;
    let known = this.#programs.get(parent);
    if (known === undefined) {
      known = { operations: [], keys: new Set() };
      this.#programs.set(parent, known);
    }
    for (const each of operations) known.operations.push(each);
    for (const key of keys) known.keys.add(key);
  }

  get parents(): readonly string[] {
    return [...this.#programs.keys()];
  }

  of(parent: string): SlotProgram {
    const known = this.#programs.get(parent);
    return known === undefined ? nothing : { operations: known.operations, keys: [...known.keys] };
  }
}
