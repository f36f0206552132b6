// The commit on a cluster, where a script reaches one slot only. First each slot verifies and leases what the unit relies on,
// then the slots are written one after another. The writes below one parent become visible in one step. Those below several
// parents become visible in an order that never shows a child without its parent.
import { BackendUnavailable, TransactionConflict } from '../../contracts/errors.ts';
import type { RedisClient } from './client.ts';
import { planWrites, type ClusterPlan } from './cluster-plan.ts';
import { escapeTag, parentOf, type Keys } from './keys.ts';
import type { ListOverlay } from './list-overlay.ts';
import { principalsIn, ProgramByParent, requirement, type Outcome, type SlotProgram } from './program.ts';
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
    const plan = await planWrites(this.#client, this.#keys, contents);
    const parents = new Set([...plan.removals.parents, ...plan.writes.parents]);
    const isLone = parents.size <= 1;
    const relied = this.#planVerifications(contents, isLone);
    await this.#verify(contents, relied, isLone ? [...parents][0] : undefined, version);
    await this.#countFlush(contents);
    await this.#apply(
      isLone
        ? [{ levels: [[...parents]], programs: [relied, plan.removals, plan.writes], isLast: true }]
        : this.#inRounds(contents, plan, relied, version),
      contents,
      version,
    );
    await this.#countFlush(contents);
    const isWritten = ({ list }: ListOverlay): boolean =>
      isLone ? parents.has(list.parent) : plan.writes.parents.includes(list.parent);
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

  /**
   * Plans the verifications by slot. A unit that writes several slots takes leases on its lists as well.
   *
   * @param versionOf returns the version that a list must have
   */
  #planVerifications(
    { overlays, required, isFlushed }: Pick<UnitContents, 'overlays' | 'required' | 'isFlushed'>,
    isLone: boolean,
    versionOf = ({ version }: ListOverlay): string => version,
  ): ProgramByParent {
    const keys = this.#keys;
    const program = new ProgramByParent();
    for (const overlay of isFlushed ? [] : overlays) {
      const { list } = overlay;
      const [lease] = keys.lease(list);
      const meta = keys.meta(list);
      const taken = isLone ? [] : ['lease', lease, leaseMs];
      program.add(list.parent, ['version', meta, lease, versionOf(overlay), ...taken], [meta, lease]);
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

  /**
   * Returns the removals from the bottom, and then the other writes from the top. The removals may include objects that had to
   * exist, and they give the lists that are emptied a version of their own.
   */
  #inRounds(
    { overlays, required, isFlushed }: UnitContents,
    { removals, writes, emptied }: ClusterPlan,
    relied: ProgramByParent,
    version: string,
  ): readonly Round[] {
    const stillRequired = required.filter(({ list }) => !removals.parents.includes(list.parent));
    const reliedNext = this.#planVerifications({ overlays, required: stillRequired, isFlushed }, false, (overlay) =>
      emptied.has(overlay) ? emptiedVersion(version) : overlay.version,
    );
    return [
      { levels: levels(removals.parents).toReversed(), programs: [relied, removals], isLast: false },
      { levels: levels(writes.parents), programs: [reliedNext, writes], isLast: true },
    ];
  }

  async #apply(rounds: readonly Round[], { overlays }: UnitContents, version: string): Promise<void> {
    let hasWritten = false;
    for (const { levels: steps, programs, isLast } of rounds) {
      for (const level of steps) {
        const done = await allSettled(
          level.map((parent) => {
            const own = isLast ? overlays.filter(({ list }) => list.parent === parent) : [];
            const leases = own.map(({ list }) => this.#keys.lease(list)[0]);
            const parts = programs.map((program) => program.of(parent));
            const operations = [...parts.map((part) => part.operations), leases.flatMap((lease) => ['release', lease])];
            const touched = [...parts.flatMap((part) => part.keys), ...leases];
            return this.#execute(
              { operations: operations.flat(), keys: touched },
              isLast ? version : emptiedVersion(version),
            );
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
}

/** Writes that are made level by level; those of a level at the same time. */
interface Round {
  readonly levels: readonly (readonly string[])[];
  /** Verifications and operations, in their order. */
  readonly programs: readonly ProgramByParent[];
  /** Whether the leases on the lists end. */
  readonly isLast: boolean;
}

/** Returns the version of a list after the removals. Caches must not take it for that of the end of the commit. */
function emptiedVersion(version: string): string {
  return `${version}-`;
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
 * Returns the parents in the order of the writes below them, from the top. Parents that are no objects come last: the shared
 * clock of several lists may become visible, and its lease may end, only after these lists.
 */
function levels(parents: readonly string[]): readonly (readonly string[])[] {
  const byDepth = new Map<number, string[]>();
  const isObject = (parent: string): boolean => parent === '' || parent.startsWith('/');
  for (const parent of parents.filter(isObject)) {
    const depth = parent.split('/').length;
    const level = byDepth.get(depth);
    if (level === undefined) byDepth.set(depth, [parent]);
    else level.push(parent);
  }
  const ordered = [...byDepth].toSorted(([a], [b]) => a - b).map(([, level]) => level);
  return [...ordered, parents.filter((parent) => !isObject(parent))].filter((level) => level.length > 0);
}
