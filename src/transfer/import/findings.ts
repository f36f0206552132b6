// The findings of a walk over one list on both sides: counts, digests, differences, and objects to report by name.
import { createHash } from 'node:crypto';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import { isTombstone, type StoredEntry, type StoredObject } from '../../core/objects/stored.ts';
import { formatPermissions } from '../copy/digest.ts';
import type { Compared, Side } from '../copy/verify.ts';
import type { ApiRules } from './api-rules.ts';
import type { Unfit } from './entries.ts';
import type { SourceList } from './lists.ts';
import { Oddities } from './oddities.ts';

export interface ListReport {
  readonly compared: Compared;
  /** URIs of objects whose permissions the source does not show. */
  readonly unseen: readonly string[];
  /** Objects that cannot be stored or compared, by name, with the reason. */
  readonly problems: readonly string[];
  /** Objects that the API would refuse. */
  readonly oddities: Oddities;
  /** The live objects of lists with children or members. */
  readonly objects: readonly StoredObject[];
  /** URIs of objects that the target has and the source does not show to this user. */
  readonly hidden: readonly string[];
}

const maxNamed = 5;

export interface Pairing {
  readonly theirs: StoredEntry | undefined;
  readonly isSame: boolean;
  readonly isAlike: boolean;
  readonly wanted: ObjectPermissions | undefined;
  readonly had: ObjectPermissions;
}

/** Collects the findings of a walk. */
export class Findings {
  readonly #list: SourceList;
  readonly #rules: ApiRules;
  readonly #oddities = new Oddities();
  readonly #hashes = { source: createHash('sha256'), target: createHash('sha256') };
  readonly #counts = { source: { objects: 0, tombstones: 0 }, target: { objects: 0, tombstones: 0 } };
  readonly #differences: string[] = [];
  readonly #problems: string[] = [];
  readonly #objects: StoredObject[] = [];
  #different = 0;
  #refusedLive = 0;
  readonly unseen: string[] = [];
  readonly hidden: string[] = [];
  /** Clock for the list: that of the source in its last page, or the newest entry where that clock cannot be stored. */
  timestamp: number | undefined;

  constructor(list: SourceList, rules: ApiRules) {
    this.#list = list;
    this.#rules = rules;
  }

  get liveAtSource(): number {
    return this.#counts.source.objects + this.#refusedLive;
  }

  differ(sentence: string): void {
    this.#different++;
    if (this.#different <= maxNamed) this.#differences.push(sentence);
  }

  /** Reports that the list gets another clock than at the source. */
  refuseClock(): void {
    this.#problems.push(
      `${this.#list.name}: the clock of the list (ETag) is too high to be stored; the newest imported object determines the clock`,
    );
  }

  refuse({ id, reason }: Unfit): void {
    this.#refusedLive++;
    this.#problems.push(`${this.#list.uriOf(id)} cannot be stored: ${reason}`);
  }

  compare(ours: StoredEntry, { theirs, isSame, isAlike, wanted, had }: Pairing): void {
    const shown = wanted === undefined ? undefined : formatPermissions(wanted);
    this.#add('source', ours, shown);
    if (theirs !== undefined) this.#add('target', theirs, wanted === undefined ? undefined : formatPermissions(had));
    if (theirs === undefined) this.differ(`${ours.id} is missing in the target`);
    else if (!isSame) this.differ(`${ours.id} is different in the target`);
    else if (!isAlike) this.differ(`the permissions of ${ours.id} are different in the target`);
    if (isTombstone(ours)) return;
    for (const oddity of this.#rules.find(this.#list.kind, ours, wanted)) {
      this.#oddities.add(oddity, this.#list.uriOf(ours.id));
    }
    if (this.#list.hasChildren || this.#list.kind === 'group') this.#objects.push(ours);
  }

  compareExtra(id: string, theirs: StoredEntry | undefined): void {
    if (theirs !== undefined) this.#add('target', theirs, undefined);
    this.differ(`${id} is only in the target`);
  }

  report(): ListReport {
    const more = this.#different - this.#differences.length;
    const differences = [...this.#differences, ...(more > 0 ? [`${more} more are different`] : [])];
    const compared = { name: this.#list.name, source: this.#side('source'), target: this.#side('target'), differences };
    const { unseen, hidden } = this;
    return { compared, unseen, hidden, problems: this.#problems, oddities: this.#oddities, objects: this.#objects };
  }

  #add(side: 'source' | 'target', entry: StoredEntry, permissions: string | undefined): void {
    const isDead = isTombstone(entry);
    this.#counts[side][isDead ? 'tombstones' : 'objects']++;
    const parts = [entry.id, entry.lastModified, isDead ? null : entry.text, permissions ?? null];
    this.#hashes[side].update(`${JSON.stringify(parts)}\n`);
  }

  #side(side: 'source' | 'target'): Side {
    return { lists: 1, ...this.#counts[side], digest: this.#hashes[side].digest('hex') };
  }
}
