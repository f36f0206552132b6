// The commit on a cluster, where a script reaches one slot only: what the unit relies on is verified and held everywhere
// before anything is written anywhere, then the slots are written one after the other. What lies below one parent becomes
// visible in one step; several parents do so in an order that never shows a child without its parent.
import { BackendUnavailable, TransactionConflict } from '../../contracts/errors.ts';
import type { RedisClient } from './client.ts';
import { dirname, escapeTag, parentOf, unescapeTag, type Keys } from './keys.ts';
import { planMemberships, type Membership } from './membership-plan.ts';
import type { EntryChange } from './permission-log.ts';
import { listWrites, localEntryWrites, principalsIn, registration, type Program } from './program.ts';
import { membersWithPrefix, placesBelow, registeredKinds } from './registries.ts';
import { TaggedProgram } from './tagged-program.ts';
import type { UnitContents } from './unit.ts';

/** How long lists are held for the commit; after that the version check alone protects them. */
const holdMs = '5000';
/** Most announcements remembered, so that they are not made at every write. */
const maxAnnounced = 100_000;

/** Runs operations in one slot; answers whether they were done, or found a conflict and did nothing. */
export type Execute = (tag: string, program: Program, version: string) => Promise<boolean>;

export class ClusterCommit {
  readonly #client: RedisClient;
  readonly #keys: Keys;
  readonly #execute: Execute;
  /** Announcements made; they hold for ever. */
  readonly #announced = new Set<string>();

  constructor(client: RedisClient, keys: Keys, execute: Execute) {
    this.#client = client;
    this.#keys = keys;
    this.#execute = execute;
  }

  /**
   * @throws TransactionConflict when nothing was written and the unit may be run again; BackendUnavailable when it
   * cannot be said how much was written
   */
  async run(contents: UnitContents, version: string): Promise<void> {
    await this.#announce(contents, version);
    const writes = await this.#planWrites(contents);
    const memberships = await planMemberships(this.#client, this.#keys, contents.permissions.memberships);
    const isLone = writes.tags.length <= 1 && memberships.length === 0;
    const relied = this.#planVerifications(contents, isLone);
    await this.#verify(relied, isLone ? writes.tags[0] : undefined, version);
    // Who loses a membership loses it before the group goes; who gains one does so when the group is there.
    await this.#changeMemberships(memberships, false, version);
    await this.#apply(
      contents,
      relied,
      writes,
      memberships.some(({ isMember }) => !isMember),
      version,
    );
    await this.#changeMemberships(memberships, true, version);
  }

  /** Makes findable what is about to be written. */
  async #announce({ drafts, permissions }: UnitContents, version: string): Promise<void> {
    const keys = this.#keys;
    const program = new TaggedProgram();
    const fresh: string[] = [];
    const note = (tag: string, operation: Program): void => {
      const text = operation.join('\0');
      if (this.#announced.has(text)) return;
      fresh.push(text);
      program.add(tag, operation);
    };
    for (const draft of drafts)
      if (draft.isDirty && draft.isNew) note(keys.shard(draft.list.parent), registration(draft, keys));
    for (const change of permissions.entries) {
      if (change.kind !== 'grant' && change.kind !== 'replace') continue;
      const parent = parentOf(change.objectId);
      for (const principal of principalsIn(change)) {
        note(keys.shard(parent), ['announce', keys.shard(parent), escapeTag(parent)]);
        note(keys.principal(principal), ['announcePrincipal', principal, escapeTag(parent)]);
      }
    }
    for (const change of permissions.memberships) {
      if (change.kind !== 'admit') continue;
      const shard = keys.shard(change.principal);
      note(shard, ['hold', shard, change.principal]);
      note(keys.principal(change.principal), ['join', change.principal, change.userId]);
    }
    await Promise.all(program.tags.map((tag) => this.#execute(tag, program.of(tag), version)));
    if (this.#announced.size > maxAnnounced) this.#announced.clear();
    for (const text of fresh) this.#announced.add(text);
  }

  /** All writes to lists and entries. */
  async #planWrites({ drafts, cascades, isFlushed, permissions }: UnitContents): Promise<TaggedProgram> {
    const keys = this.#keys;
    const program = new TaggedProgram();
    if (isFlushed) for (const [tag, kind] of await this.#listsBelow(undefined)) program.add(tag, ['drop', tag, kind]);
    const drafted = new Set(drafts.map(({ list }) => `${keys.tag(list.parent)}\0${list.kind}`));
    for (const uri of cascades) {
      for (const [tag, kind] of await this.#listsBelow(uri)) {
        if (!drafted.has(`${tag}\0${kind}`)) program.add(tag, ['empty', tag, kind]);
      }
    }
    for (const draft of drafts) if (draft.isDirty) program.add(keys.tag(draft.list.parent), listWrites(draft, keys));
    for (const change of permissions.entries) await this.#planEntries(change, program);
    return program;
  }

  async #planEntries(change: EntryChange, program: TaggedProgram): Promise<void> {
    const keys = this.#keys;
    const clear = (place: string, prefix: string): void => {
      program.add(keys.tag(unescapeTag(place)), ['clearPlace', place, prefix]);
    };
    switch (change.kind) {
      case 'clearBelow': {
        const above = dirname(change.uri);
        const places = new Set(await placesBelow(this.#client, keys, 'e', change.uri));
        // Ids need not be those of real objects, whose places all lie at the URI or below it.
        const score = await this.#client.read('permission', 'ZSCORE', `${keys.shard(above)}e`, escapeTag(above));
        if (score !== null) places.add(escapeTag(above));
        for (const place of places) clear(place, `${change.uri}/`);
        return;
      }
      case 'withdraw': {
        const places = (await this.#client.read('permission', 'SMEMBERS', keys.places(change.principal))) as string[];
        for (const place of places) {
          program.add(keys.tag(unescapeTag(place)), ['withdrawIn', place, change.principal]);
        }
        return;
      }
      case 'clearAll':
        for (const place of await membersWithPrefix(this.#client, keys, 'e', '')) clear(place, '');
        return;
      default:
        program.add(keys.tag(parentOf(change.objectId)), localEntryWrites(change));
    }
  }

  /** Tag and kind of the lists whose parent is the URI or below it, or of all lists. */
  async #listsBelow(uri: string | undefined): Promise<readonly (readonly [tag: string, kind: string])[]> {
    const keys = this.#keys;
    const shards = uri === undefined ? keys.shards : keys.shardsOf(`${uri}/`);
    const found: [string, string][] = [];
    for (const kind of await registeredKinds(this.#client, shards)) {
      const places =
        uri === undefined
          ? await membersWithPrefix(this.#client, keys, `k:${kind}`, '')
          : await placesBelow(this.#client, keys, `k:${kind}`, uri);
      for (const place of places) found.push([keys.tag(unescapeTag(place)), kind]);
    }
    return found;
  }

  /** What the unit relies on, by slot; lists of a unit that writes several slots are held as well. */
  #planVerifications({ drafts, held, isFlushed }: UnitContents, isLone: boolean): TaggedProgram {
    const keys = this.#keys;
    const program = new TaggedProgram();
    for (const { list, version } of isFlushed ? [] : drafts) {
      const [lease] = keys.lease(list);
      program.add(keys.tag(list.parent), ['version', keys.meta(list), lease, version]);
      if (!isLone) program.add(keys.tag(list.parent), ['lease', lease, holdMs]);
    }
    for (const { list, id } of held) program.add(keys.tag(list.parent), ['exists', keys.list(list)[1], id]);
    return program;
  }

  /** @param own slot that verifies and writes in one step, later */
  async #verify(relied: TaggedProgram, own: string | undefined, version: string): Promise<void> {
    const others = relied.tags.filter((tag) => tag !== own);
    const held = await Promise.all(others.map((tag) => this.#execute(tag, relied.of(tag), version)));
    if (held.includes(false)) throw new TransactionConflict('another process has changed what the unit relies on');
  }

  async #apply(
    { cascades, drafts }: UnitContents,
    relied: TaggedProgram,
    writes: TaggedProgram,
    hasBegun: boolean,
    version: string,
  ): Promise<void> {
    let hasWritten = hasBegun;
    for (const level of levels(writes.tags, cascades.length > 0)) {
      const done = await Promise.all(
        level.map((tag) => {
          const own = drafts.filter(({ list }) => this.#keys.tag(list.parent) === tag);
          const release = own.flatMap(({ list }) => ['release', this.#keys.lease(list)[0]]);
          return this.#execute(tag, [...relied.of(tag), 'probe', `${tag}!`, ...writes.of(tag), ...release], version);
        }),
      );
      if (done.includes(false)) {
        if (!hasWritten && !done.includes(true)) throw new TransactionConflict('another process has changed the list');
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
      program.add(this.#keys.principal(userId), [isMember ? 'admit' : 'expel', userId, principal]);
    }
    await Promise.all(program.tags.map((tag) => this.#execute(tag, program.of(tag), version)));
  }
}

/** Slots in the order they are written: parents before children, or the other way round for deletions. */
function levels(tags: readonly string[], isDeepestFirst: boolean): readonly (readonly string[])[] {
  const byDepth = new Map<number, string[]>();
  for (const tag of tags) {
    const depth = tag.split('/').length;
    const level = byDepth.get(depth);
    if (level === undefined) byDepth.set(depth, [tag]);
    else level.push(tag);
  }
  const sign = isDeepestFirst ? -1 : 1;
  return [...byDepth].toSorted(([a], [b]) => sign * (a - b)).map(([, level]) => level);
}
