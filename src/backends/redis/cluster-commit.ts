// The commit on a cluster, where a script reaches one slot only. First each slot verifies and leases what the unit relies on,
// then the slots are written one after another. The writes below one parent become visible in one step. Those below several
// parents become visible in an order that never shows a child without its parent.
import { BackendUnavailable, TransactionConflict } from '../../contracts/errors.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { storedParent, type ObjectUri } from '../../core/objects/uris.ts';
import { toPrincipals, type Principal } from '../../core/permissions/principals.ts';
import type { RedisClient } from './client.ts';
import { dirname, escapeTag, parentOf, unescapeTag, type Keys } from './keys.ts';
import type { ListOverlay } from './list-overlay.ts';
import type { EntryChange, MembershipChange } from './permission-log.ts';
import {
  listWrites,
  localEntryWrites,
  localMembershipWrites,
  principalsIn,
  ProgramByParent,
  requirement,
  type Outcome,
  type Program,
  type SlotProgram,
} from './program.ts';
import { membersWithPrefix, placesBelow, registeredKinds } from './registries.ts';
import type { UnitContents } from './unit.ts';

/** Duration of the leases of a commit. After it only the version check protects the lists. */
const leaseMs = '5000';
/** Maximum number of announcements remembered, so that they are not made at every write. */
const maxAnnounced = 100_000;

/** Runs operations in one slot. */
export type Execute = (program: SlotProgram, version: string) => Promise<Outcome>;

/** Returns the conflict with a unit that has changed an object above a list. The retry locks the list of the object first. */
export function changedAbove({ required }: Pick<UnitContents, 'required'>): TransactionConflict {
  const lists = required.map(({ list }) => list);
  return new TransactionConflict('another unit has changed or deleted the object above a list', { lists });
}

/** A command that adds a name to a registry or an index, and changes nothing when the name exists. */
type Announcement = readonly [command: 'SADD' | 'ZADD', key: string, ...args: (string | number)[]];

type Client = Pick<RedisClient, 'call' | 'read' | 'lostNodes'>;

export class ClusterCommit {
  readonly #client: Client;
  readonly #keys: Keys;
  readonly #execute: Execute;
  /** Announcements made since the client last lost a node. They are never undone. */
  readonly #announced = new Set<string>();
  #lostNodes = 0;

  constructor(client: Client, keys: Keys, execute: Execute) {
    this.#client = client;
    this.#keys = keys;
    this.#execute = execute;
  }

  /**
   * Commits a unit of work.
   *
   * @returns lists that were only read, whose leases the caller releases; those of written lists are released
   * @throws TransactionConflict when nothing was written and the unit may run again; BackendUnavailable when the outcome is
   *   unknown
   */
  async run(contents: UnitContents, version: string): Promise<readonly ListOverlay[]> {
    await this.#announce(contents);
    const writes = await this.#planWrites(contents);
    const isLone = writes.parents.length <= 1;
    const relied = this.#planVerifications(contents, isLone);
    await this.#verify(contents, relied, isLone ? writes.parents[0] : undefined, version);
    await this.#countFlush(contents);
    await this.#apply(contents, relied, writes, version);
    await this.#countFlush(contents);
    const isWritten = ({ list }: ListOverlay): boolean => writes.parents.includes(list.parent);
    return contents.overlays.filter((overlay) => (!isLone || overlay.isLeased) && !isWritten(overlay));
  }

  /**
   * Counts a flush: before the lists are deleted, so that no reader finds one deleted without the count, and after it, for
   * the readers that have seen the first count and then lists that were still to be deleted.
   */
  async #countFlush({ isFlushed }: UnitContents): Promise<void> {
    if (isFlushed) await this.#client.call('storage', 'HINCRBY', this.#keys.schema(), 'flushes', 1);
  }

  /** Registers what is about to be written, so that it can be found. */
  async #announce({ overlays, permissions }: UnitContents): Promise<void> {
    this.#forgetAnnounced();
    const keys = this.#keys;
    const fresh = new Map<string, Announcement>();
    const note = (...announcement: Announcement): void => {
      const text = announcement.join('\0');
      if (!this.#announced.has(text)) fresh.set(text, announcement);
    };
    for (const { list, isDirty } of overlays) {
      if (!isDirty) continue;
      const shard = keys.shard(list.parent);
      note('SADD', `${shard}kinds`, list.kind);
      note('ZADD', `${shard}k:${list.kind}`, 0, escapeTag(list.parent));
    }
    for (const change of permissions.entries) {
      if (change.kind !== 'grant' && change.kind !== 'replace') continue;
      const parent = parentOf(change.objectId);
      const place = escapeTag(parent);
      for (const principal of principalsIn(change)) {
        note('ZADD', `${keys.shard(parent)}e`, 0, place);
        note('SADD', keys.places(principal), place);
      }
    }
    for (const change of permissions.memberships) {
      if (change.kind !== 'admit') continue;
      note('ZADD', `${keys.shard(change.principal)}h`, 0, change.principal);
      note('SADD', keys.memberships(change.userId), change.principal);
    }
    const commands = Array.from(fresh.values(), ([command, key, ...args]) =>
      this.#client.call('storage', command, key, ...args),
    );
    await Promise.all(commands);
    if (this.#client.lostNodes === this.#lostNodes) for (const text of fresh.keys()) this.#announced.add(text);
  }

  /** Forgets all announcements when a master was lost or replaced, because its replica may lack them, or when they are many. */
  #forgetAnnounced(): void {
    const { lostNodes } = this.#client;
    if (lostNodes !== this.#lostNodes || this.#announced.size > maxAnnounced) this.#announced.clear();
    this.#lostNodes = lostNodes;
  }

  /** Plans all writes to lists and permission entries. */
  async #planWrites({ overlays, cascades, isFlushed, permissions }: UnitContents): Promise<ProgramByParent> {
    const keys = this.#keys;
    const program = new ProgramByParent();
    const addAll = (operation: 'drop' | 'empty', lists: readonly ListKey[]): void => {
      for (const list of lists) {
        const touched = [...keys.list(list), ...keys.indexes(list)];
        program.add(list.parent, [operation, keys.tag(list.parent), list.kind], touched);
      }
    };
    if (isFlushed) addAll('drop', await this.#listsBelow(undefined));
    const overlaid = new Set(overlays.map(({ list }) => keys.meta(list)));
    for (const uri of cascades) {
      const lists = await this.#listsBelow(uri);
      addAll(
        'empty',
        lists.filter((list) => !overlaid.has(keys.meta(list))),
      );
    }
    for (const overlay of overlays) {
      const { list, isDirty } = overlay;
      if (isDirty) {
        const touched = [...keys.list(list), ...keys.indexes(list)];
        program.add(list.parent, listWrites(overlay, keys), touched);
      }
    }
    for (const change of permissions.entries) await this.#planEntries(change, program);
    for (const change of permissions.memberships) await this.#planMemberships(change, program);
    return program;
  }

  async #planMemberships(change: MembershipChange, program: ProgramByParent): Promise<void> {
    const keys = this.#keys;
    const add = (each: Extract<MembershipChange, { readonly principal: Principal }>): void => {
      program.add(parentOf(each.principal), localMembershipWrites(each, keys), [keys.members(each.principal)]);
    };
    if (change.kind !== 'expelBelow' && change.kind !== 'clearMemberships') {
      add(change);
      return;
    }
    const prefix = change.kind === 'expelBelow' ? change.prefix : '';
    for (const principal of toPrincipals(await membersWithPrefix(this.#client, keys, 'h', prefix)))
      add({ kind: 'expelAll', principal });
  }

  async #planEntries(change: EntryChange, program: ProgramByParent): Promise<void> {
    const keys = this.#keys;
    const add = (parent: string, operation: Program): void => {
      program.add(parent, operation, [keys.entries(parent), keys.granted(parent)]);
    };
    const clear = (place: string, prefix: string): void => add(unescapeTag(place), ['clearPlace', place, prefix]);
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
        for (const place of places) add(unescapeTag(place), ['withdrawIn', place, change.principal]);
        return;
      }
      case 'clearAll':
        for (const place of await membersWithPrefix(this.#client, keys, 'e', '')) clear(place, '');
        return;
      default:
        add(parentOf(change.objectId), localEntryWrites(change));
    }
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

  /** Plans the verifications by slot. A unit that writes several slots takes leases on its lists as well. */
  #planVerifications({ overlays, required, isFlushed }: UnitContents, isLone: boolean): ProgramByParent {
    const keys = this.#keys;
    const program = new ProgramByParent();
    for (const { list, version } of isFlushed ? [] : overlays) {
      const [lease] = keys.lease(list);
      const meta = keys.meta(list);
      const taken = isLone ? [] : ['lease', lease, leaseMs];
      program.add(list.parent, ['version', meta, lease, version, ...taken], [meta, lease]);
    }
    for (const each of required) {
      const { operation, key } = requirement(each, keys);
      program.add(each.list.parent, operation, [key]);
    }
    return program;
  }

  /** @param own parent whose slot verifies and writes in one step, later */
  async #verify(
    contents: UnitContents,
    relied: ProgramByParent,
    own: string | undefined,
    version: string,
  ): Promise<void> {
    const others = relied.parents.filter((parent) => parent !== own);
    const verified = await allSettled(others.map((parent) => this.#execute(relied.of(parent), version)));
    if (verified.includes('changed')) throw changedAbove(contents);
    if (verified.includes('conflict')) throw new TransactionConflict('another process has changed a list of the unit');
  }

  async #apply(
    { cascades, overlays }: UnitContents,
    relied: ProgramByParent,
    writes: ProgramByParent,
    version: string,
  ): Promise<void> {
    let hasWritten = false;
    for (const level of levels(writes.parents, cascades.length > 0)) {
      const done = await allSettled(
        level.map((parent) => {
          const own = overlays.filter(({ list }) => list.parent === parent);
          const leases = own.map(({ list }) => this.#keys.lease(list)[0]);
          const release = leases.flatMap((lease) => ['release', lease]);
          const [before, after] = [relied.of(parent), writes.of(parent)];
          const operations = before.operations.concat(after.operations, release);
          return this.#execute({ operations, keys: [...before.keys, ...after.keys, ...leases] }, version);
        }),
      );
      if (done.some((outcome) => outcome !== 'done')) {
        if (!hasWritten && !done.includes('done'))
          throw new TransactionConflict('another process has changed the list');
        throw new BackendUnavailable('storage', 'Redis: only a part of the unit of work was written');
      }
      hasWritten = true;
    }
  }
}

/**
 * Returns the results of all promises, or fails with the first failure once no promise is pending. The driver keeps looking
 * for another node for a while. A caller that learned of the failure early could be overtaken by a write to another slot.
 */
async function allSettled<T>(promises: readonly Promise<T>[]): Promise<readonly T[]> {
  const results: T[] = [];
  for (const outcome of await Promise.allSettled(promises)) {
    if (outcome.status === 'rejected') throw outcome.reason;
    results.push(outcome.value);
  }
  return results;
}

/**
 * Returns the parents in the order of the writes below them: from the top, or for deletions from the bottom. Parents that
 * are no objects come last: the shared clock of several lists may become visible, and its lease may end, only after these
 * lists.
 */
function levels(parents: readonly string[], isDeepestFirst: boolean): readonly (readonly string[])[] {
  const byDepth = new Map<number, string[]>();
  const isObject = (parent: string): boolean => parent === '' || parent.startsWith('/');
  for (const parent of parents.filter(isObject)) {
    const depth = parent.split('/').length;
    const level = byDepth.get(depth);
    if (level === undefined) byDepth.set(depth, [parent]);
    else level.push(parent);
  }
  const sign = isDeepestFirst ? -1 : 1;
  const ordered = [...byDepth].toSorted(([a], [b]) => sign * (a - b)).map(([, level]) => level);
  return [...ordered, parents.filter((parent) => !isObject(parent))].filter((level) => level.length > 0);
}
