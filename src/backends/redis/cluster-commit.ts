// The commit on a cluster, where a script reaches one slot only. First each slot verifies and leases what the unit relies on,
// then the slots are written one after another. The writes below one parent become visible in one step. Those below several
// parents become visible in an order that never shows a child without its parent.
import { BackendUnavailable, TransactionConflict } from '../../contracts/errors.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { storedParent, type ObjectUri } from '../../core/objects/uris.ts';
import type { RedisClient } from './client.ts';
import { dirname, escapeTag, parentOf, unescapeTag, type Keys } from './keys.ts';
import type { ListOverlay } from './list-overlay.ts';
import { planMemberships, type Membership } from './membership-plan.ts';
import type { EntryChange } from './permission-log.ts';
import {
  listWrites,
  localEntryWrites,
  principalsIn,
  TaggedProgram,
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

export class ClusterCommit {
  readonly #client: RedisClient;
  readonly #keys: Keys;
  readonly #execute: Execute;
  /** OperatorNotices made since the client last lost a node. They are never undone. */
  readonly #announced = new Set<string>();
  #lostNodes = 0;

  constructor(client: RedisClient, keys: Keys, execute: Execute) {
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
    const memberships = await planMemberships(this.#client, this.#keys, contents.permissions.memberships);
    const isLone = writes.tags.length <= 1 && memberships.length === 0;
    const relied = this.#planVerifications(contents, isLone);
    await this.#verify(contents, relied, isLone ? writes.tags[0] : undefined, version);
    // Users lose a membership before the group is deleted, and gain one after the group was written.
    await this.#changeMemberships(memberships, false, version);
    await this.#countFlush(contents);
    await this.#apply(
      contents,
      relied,
      writes,
      memberships.some(({ isMember }) => !isMember),
      version,
    );
    await this.#countFlush(contents);
    await this.#changeMemberships(memberships, true, version);
    const isWritten = ({ list }: ListOverlay): boolean => writes.tags.includes(this.#keys.tag(list.parent));
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
    const keys = this.#keys;
    const fresh = new Map<string, Announcement>();
    const note = (...announcement: Announcement): void => {
      const text = announcement.join('\0');
      if (!this.#announced.has(text)) fresh.set(text, announcement);
    };
    for (const { list, isDirty, isNew } of overlays) {
      if (!isDirty || !isNew) continue;
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
      note('SADD', keys.members(change.principal), change.userId);
    }
    const commands = Array.from(fresh.values(), ([command, key, ...args]) =>
      this.#client.call('storage', command, key, ...args),
    );
    const lostNodes = this.#client.lostNodes;
    await Promise.all(commands);
    // A lost node may not have replicated the announcements.
    if (lostNodes !== this.#lostNodes || this.#announced.size > maxAnnounced) this.#announced.clear();
    this.#lostNodes = lostNodes;
    for (const text of fresh.keys()) this.#announced.add(text);
  }

  /** Plans all writes to lists and permission entries. */
  async #planWrites({ overlays, cascades, isFlushed, permissions }: UnitContents): Promise<TaggedProgram> {
    const keys = this.#keys;
    const program = new TaggedProgram();
    const addAll = (operation: 'drop' | 'empty', lists: readonly ListKey[]): void => {
      for (const list of lists) {
        const tag = keys.tag(list.parent);
        program.add(tag, [operation, tag, list.kind], [...keys.list(list), ...keys.indexes(list)]);
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
        program.add(keys.tag(list.parent), listWrites(overlay, keys), touched);
      }
    }
    for (const change of permissions.entries) await this.#planEntries(change, program);
    return program;
  }

  async #planEntries(change: EntryChange, program: TaggedProgram): Promise<void> {
    const keys = this.#keys;
    const add = (parent: string, operation: Program): void => {
      program.add(keys.tag(parent), operation, [keys.entries(parent), keys.granted(parent)]);
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
  #planVerifications({ overlays, required, isFlushed }: UnitContents, isLone: boolean): TaggedProgram {
    const keys = this.#keys;
    const program = new TaggedProgram();
    for (const { list, version } of isFlushed ? [] : overlays) {
      const [lease] = keys.lease(list);
      const meta = keys.meta(list);
      const taken = isLone ? [] : ['lease', lease, leaseMs];
      program.add(keys.tag(list.parent), ['version', meta, lease, version, ...taken], [meta, lease]);
    }
    for (const each of required) {
      const { operation, key } = requirement(each, keys);
      program.add(keys.tag(each.list.parent), operation, [key]);
    }
    return program;
  }

  /** @param own slot that verifies and writes in one step, later */
  async #verify(
    contents: UnitContents,
    relied: TaggedProgram,
    own: string | undefined,
    version: string,
  ): Promise<void> {
    const others = relied.tags.filter((tag) => tag !== own);
    const verified = await allSettled(others.map((tag) => this.#execute(relied.of(tag), version)));
    if (verified.includes('changed')) throw changedAbove(contents);
    if (verified.includes('conflict')) throw new TransactionConflict('another process has changed a list of the unit');
  }

  async #apply(
    { cascades, overlays }: UnitContents,
    relied: TaggedProgram,
    writes: TaggedProgram,
    hasBegun: boolean,
    version: string,
  ): Promise<void> {
    let hasWritten = hasBegun;
    for (const level of levels(writes.tags, cascades.length > 0)) {
      const done = await allSettled(
        level.map((tag) => {
          const own = overlays.filter(({ list }) => this.#keys.tag(list.parent) === tag);
          const leases = own.map(({ list }) => this.#keys.lease(list)[0]);
          const release = leases.flatMap((lease) => ['release', lease]);
          const [before, after] = [relied.of(tag), writes.of(tag)];
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

  async #changeMemberships(memberships: readonly Membership[], isMember: boolean, version: string): Promise<void> {
    const program = new TaggedProgram();
    for (const each of memberships) {
      if (each.isMember !== isMember) continue;
      const { userId, principal } = each;
      const operation = [isMember ? 'admit' : 'expel', userId, principal];
      program.add(this.#keys.principal(userId), operation, [this.#keys.memberships(userId)]);
    }
    await allSettled(program.tags.map((tag) => this.#execute(program.of(tag), version)));
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
 * Returns the slots in the order of the writes: parents before children, or children first for deletions. Places that are no
 * objects come last: the shared clock of several lists may become visible, and its lease may end, only after these lists.
 */
function levels(tags: readonly string[], isDeepestFirst: boolean): readonly (readonly string[])[] {
  const byDepth = new Map<number, string[]>();
  const isOfObject = (tag: string): boolean => tag === '' || tag.startsWith('/');
  for (const tag of tags.filter(isOfObject)) {
    const depth = tag.split('/').length;
    const level = byDepth.get(depth);
    if (level === undefined) byDepth.set(depth, [tag]);
    else level.push(tag);
  }
  const sign = isDeepestFirst ? -1 : 1;
  const ordered = [...byDepth].toSorted(([a], [b]) => sign * (a - b)).map(([, level]) => level);
  return [...ordered, tags.filter((tag) => !isOfObject(tag))].filter((level) => level.length > 0);
}
