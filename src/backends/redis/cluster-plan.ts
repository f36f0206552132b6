// Plans the writes of a commit on a cluster by the parents whose slots they touch. Removals are apart from the other writes,
// because what is removed disappears from the bottom, and what is written appears from the top.
import type { ListKey } from '../../core/objects/stored.ts';
import { storedParent, type ObjectUri } from '../../core/objects/uris.ts';
import { toPrincipals, type Principal } from '../../core/permissions/principals.ts';
import type { RedisClient } from './client.ts';
import { dirname, escapeTag, parentOf, unescapeTag, type Keys } from './keys.ts';
import type { ListOverlay } from './list-overlay.ts';
import type { EntryChange, MembershipChange } from './permission-log.ts';
import {
  emptyingOf,
  listWrites,
  localEntryWrites,
  localMembershipWrites,
  ProgramByParent,
  type Program,
} from './program.ts';
import { membersWithPrefix, placesBelow, registeredKinds } from './registries.ts';
import type { UnitContents } from './unit.ts';

export interface ClusterPlan {
  /** Removals of whole lists, members and entries that precede all other writes to them. */
  readonly removals: ProgramByParent;
  /** All other writes, in their order. */
  readonly writes: ProgramByParent;
  /** Lists that the removals empty and the writes write. */
  readonly emptied: ReadonlySet<ListOverlay>;
}

/** Returns the plan of the writes of a unit. */
export async function planWrites(
  client: Pick<RedisClient, 'read'>,
  keys: Keys,
  contents: UnitContents,
): Promise<ClusterPlan> {
  const planner = new Planner(client, keys);
  await planner.addLists(contents);
  for (const change of lastingEntries(contents.permissions.entries)) await planner.addEntries(change);
  for (const change of lastingMemberships(contents.permissions.memberships)) await planner.addMemberships(change);
  return planner;
}

class Planner implements ClusterPlan {
  readonly removals = new ProgramByParent();
  readonly writes = new ProgramByParent();
  readonly emptied = new Set<ListOverlay>();
  readonly #client: Pick<RedisClient, 'read'>;
  readonly #keys: Keys;
  /** Keys of entries and members to which writes precede: later removals from them are no longer first. */
  readonly #written = new Set<string>();

  constructor(client: Pick<RedisClient, 'read'>, keys: Keys) {
    this.#client = client;
    this.#keys = keys;
  }

  async addLists({ overlays, cascades, isFlushed }: UnitContents): Promise<void> {
    const keys = this.#keys;
    const touchedOf = (list: ListKey): readonly string[] => [...keys.list(list), ...keys.indexes(list)];
    const remove = (operation: 'drop' | 'empty', lists: readonly ListKey[]): void => {
      for (const list of lists)
        this.removals.add(list.parent, [operation, keys.tag(list.parent), list.kind], touchedOf(list));
    };
    if (isFlushed) remove('drop', await this.#listsBelow(undefined));
    const overlaid = new Set(overlays.map(({ list }) => keys.meta(list)));
    for (const uri of cascades) {
      const lists = await this.#listsBelow(uri);
      remove(
        'empty',
        lists.filter((list) => !overlaid.has(keys.meta(list))),
      );
    }
    for (const overlay of overlays) {
      const { list, isDirty, isEmptied } = overlay;
      if (!isDirty) continue;
      if (isEmptied && !isFlushed) {
        this.removals.add(list.parent, emptyingOf(overlay, keys), touchedOf(list));
        this.emptied.add(overlay);
      }
      this.writes.add(list.parent, listWrites(overlay, keys), touchedOf(list));
    }
  }

  async addMemberships(change: MembershipChange): Promise<void> {
    const keys = this.#keys;
    const add = (each: Extract<MembershipChange, { readonly principal: Principal }>): void => {
      const parent = parentOf(each.principal);
      this.#add(parent, localMembershipWrites(each, keys), [keys.members(each.principal)], each.kind === 'expelAll');
    };
    if (change.kind !== 'expelBelow' && change.kind !== 'clearMemberships') {
      add(change);
      return;
    }
    const prefix = change.kind === 'expelBelow' ? change.prefix : '';
    for (const principal of toPrincipals(await membersWithPrefix(this.#client, keys, 'h', prefix)))
      add({ kind: 'expelAll', principal });
  }

  async addEntries(change: EntryChange): Promise<void> {
    const keys = this.#keys;
    const add = (parent: string, operation: Program, isRemoval: boolean): void => {
      this.#add(parent, operation, [keys.entries(parent), keys.granted(parent)], isRemoval);
    };
    const clear = (place: string, prefix: string): void => add(unescapeTag(place), ['clearPlace', place, prefix], true);
    switch (change.kind) {
      case 'clearBelow': {
        const above = dirname(change.uri);
        const places = new Set(await placesBelow(this.#client, keys, 'e', change.uri));
        // Other ids than those of objects may lie directly at the parent of the URI. All others lie at the URI or below it.
        const score = await this.#client.read('permission', 'ZSCORE', `${keys.shard(above)}e`, escapeTag(above));
        if (score !== null) places.add(escapeTag(above));
        for (const place of places) clear(place, `${change.uri}/`);
        return;
      }
      case 'withdraw': {
        const places = (await this.#client.read('permission', 'SMEMBERS', keys.places(change.principal))) as string[];
        for (const place of places) add(unescapeTag(place), ['withdrawIn', place, change.principal], true);
        return;
      }
      case 'clearAll':
        for (const place of await membersWithPrefix(this.#client, keys, 'e', '')) clear(place, '');
        return;
      default:
        add(parentOf(change.objectId), localEntryWrites(change), false);
    }
  }

  #add(parent: string, operation: Program, touched: readonly [string, ...string[]], isRemoval: boolean): void {
    const [first] = touched;
    if (!isRemoval) this.#written.add(first);
    (this.#written.has(first) ? this.writes : this.removals).add(parent, operation, touched);
  }

  /** Returns the lists whose parent is the URI or lies below it; `undefined`: all lists. */
  async #listsBelow(uri: ObjectUri | undefined): Promise<readonly ListKey[]> {
    const keys = this.#keys;
    const shards = uri === undefined ? keys.shards : keys.shardsOf(`${uri}/`);
    const found: ListKey[] = [];
    for (const kind of await registeredKinds(this.#client, shards)) {
      const places =
        uri === undefined
          ? await membersWithPrefix(this.#client, keys, `k:${kind}`, '')
          : await placesBelow(this.#client, keys, `k:${kind}`, uri);
      for (const place of places) found.push({ kind, parent: storedParent(unescapeTag(place)) });
    }
    return found;
  }
}

/** Returns the changes without those that a later removal of everything below an object undoes. */
function lastingEntries(changes: readonly EntryChange[]): readonly EntryChange[] {
  const cleared = new Set<string>();
  const lasting = changes.toReversed().filter((change) => {
    if (change.kind === 'clearBelow') cleared.add(change.uri);
    return !('objectId' in change && isBelowOneOf(cleared, change.objectId));
  });
  return lasting.reverse();
}

/** Returns the changes without those that a later removal of all members of the group undoes. */
function lastingMemberships(changes: readonly MembershipChange[]): readonly MembershipChange[] {
  const [expelled, above] = [new Set<string>(), new Set<string>()];
  const lasting = changes.toReversed().filter((change) => {
    if (change.kind === 'expelAll') expelled.add(change.principal);
    if (change.kind === 'expelBelow' && change.prefix.endsWith('/')) above.add(change.prefix.slice(0, -1));
    if (change.kind !== 'admit' && change.kind !== 'expel') return true;
    return !expelled.has(change.principal) && !isBelowOneOf(above, change.principal);
  });
  return lasting.reverse();
}

function isBelowOneOf(uris: ReadonlySet<string>, uri: string): boolean {
  if (uris.size === 0) return false;
  for (let above = dirname(uri); above !== ''; above = dirname(above)) if (uris.has(above)) return true;
  return false;
}
