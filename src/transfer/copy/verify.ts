// Compares two stores by digests: every list with its clock, all permissions, all memberships.
import { createHash, type Hash } from 'node:crypto';
import type { ListSummary } from '../../contracts/storage.ts';
import { compareLists } from '../../core/objects/list-order.ts';
import type { Stores } from '../../engine/unit-of-work.ts';
import { digestList, digestMemberships, digestPermissions, type ListDigest, type SetDigest } from './digest.ts';
import { walkLists, walkPairs } from '../../maintenance/walk.ts';

/** The contents of a list, or of all lists of a kind, on one side. */
export interface Side {
  readonly lists: number;
  readonly objects: number;
  readonly tombstones: number;
  readonly digest: string;
}

export interface Compared {
  /** `bucket lists`, `/buckets/a: collection list`, `permissions`. */
  readonly name: string;
  readonly source: Side;
  readonly target: Side;
  /** The differences in words; empty when both sides are equal. */
  readonly differences: readonly string[];
}

export interface VerifyOptions {
  /** Called for each list. */
  readonly onList?: ((compared: Compared) => void) | undefined;
  /** Called with the number of entries, objects and users that were read on both sides since the last call. */
  readonly onProgress: (count: number) => void;
}

export interface Verification {
  /** All lists of each kind, then permissions and memberships. */
  readonly parts: readonly Compared[];
  readonly isEqual: boolean;
}

const nothing: ListDigest = { digest: '', objects: 0, tombstones: 0 };

/** Compares the whole contents of two stores. */
export async function verify(source: Stores, target: Stores, options: VerifyOptions): Promise<Verification> {
  const kinds = new Map<string, KindSummary>();
  const pairs = walkPairs(walkLists(source.storage.reader), walkLists(target.storage.reader), compareLists);
  for await (const [ours, theirs] of pairs) {
    const compared = await compareList(source, target, [ours, theirs], options);
    options.onList?.(compared);
    const { kind } = ours ?? theirs;
    const summary = kinds.get(kind) ?? new KindSummary(kind);
    kinds.set(kind, summary);
    summary.add(compared);
  }
  const permissions = await compareSets('permissions', source, target, (stores) =>
    digestPermissions(stores.permission.reader, options.onProgress),
  );
  const memberships = await compareSets('memberships', source, target, (stores) =>
    digestMemberships(stores.permission.reader, options.onProgress),
  );
  const parts = [...Array.from(kinds.values(), (summary) => summary.result()), permissions, memberships];
  return { parts, isEqual: parts.every(({ differences }) => differences.length === 0) };
}

async function compareList(
  source: Stores,
  target: Stores,
  [ours, theirs]: readonly [ListSummary | undefined, ListSummary | undefined],
  { onProgress }: VerifyOptions,
): Promise<Compared> {
  const [left, right] = await Promise.all([
    ours === undefined ? nothing : digestList(source.storage.reader, ours, onProgress),
    theirs === undefined ? nothing : digestList(target.storage.reader, theirs, onProgress),
  ]);
  const { parent, kind } = (ours ?? theirs)!;
  return {
    name: `${parent === '' ? 'the root' : parent}: ${kind} list`,
    source: sideOf(ours, left),
    target: sideOf(theirs, right),
    differences: describeDifferences([ours, left], [theirs, right]),
  };
}

function describeDifferences(
  [ours, left]: readonly [ListSummary | undefined, ListDigest],
  [theirs, right]: readonly [ListSummary | undefined, ListDigest],
): readonly string[] {
  if (ours === undefined) return ['the source has no such list'];
  if (theirs === undefined) return ['the target has no such list'];
  const differences: string[] = [];
  if (ours.timestamp !== theirs.timestamp) {
    differences.push(`the clock is ${ours.timestamp} in the source and ${theirs.timestamp} in the target`);
  }
  if (theirs.horizon < ours.horizon) {
    differences.push(`deletions up to ${ours.horizon} are forgotten in the source, but not in the target`);
  }
  if (left.objects !== right.objects) {
    differences.push(`the source has ${left.objects} objects and the target ${right.objects}`);
  }
  if (left.tombstones !== right.tombstones) {
    differences.push(`the source has ${left.tombstones} tombstones and the target ${right.tombstones}`);
  }
  if (left.digest !== right.digest && differences.length === 0) differences.push('the contents differ');
  if (theirs.live !== right.objects || theirs.dead !== right.tombstones) {
    differences.push(`the target counts ${theirs.live} objects and ${theirs.dead} tombstones, but holds others`);
  }
  return differences;
}

function sideOf(list: ListSummary | undefined, { objects, tombstones, digest }: ListDigest): Side {
  const clock = list === undefined ? '' : `${list.timestamp} ${digest}`;
  return {
    lists: list === undefined ? 0 : 1,
    objects,
    tombstones,
    digest: list === undefined ? '' : createHash('sha256').update(clock).digest('hex'),
  };
}

async function compareSets(
  name: string,
  source: Stores,
  target: Stores,
  digest: (stores: Stores) => Promise<SetDigest>,
): Promise<Compared> {
  const [left, right] = await Promise.all([digest(source), digest(target)]);
  const side = (of: SetDigest): Side => ({ lists: 0, objects: of.count, tombstones: 0, digest: of.digest });
  const differences = left.digest === right.digest ? [] : [`the ${name} differ`];
  return { name, source: side(left), target: side(right), differences };
}

/** Maximum number of differences that are described for one kind; further ones are counted. */
const maxDifferences = 10;

/** Sums up the comparisons of all lists of a kind. */
export class KindSummary {
  readonly #kind: string;
  readonly #sides = { source: new SideSum(), target: new SideSum() };
  readonly #differences: string[] = [];
  #different = 0;

  constructor(kind: string) {
    this.#kind = kind;
  }

  add({ name, source, target, differences }: Compared): void {
    this.#sides.source.add(name, source);
    this.#sides.target.add(name, target);
    if (differences.length === 0) return;
    this.#different++;
    if (this.#different <= maxDifferences) this.#differences.push(`${name}: ${differences.join('; ')}`);
  }

  result(): Compared {
    const others = this.#different - maxDifferences;
    return {
      name: `${this.#kind} lists`,
      source: this.#sides.source.result(),
      target: this.#sides.target.result(),
      differences: [...this.#differences, ...(others > 0 ? [`${others} more ${this.#kind} lists differ`] : [])],
    };
  }
}

class SideSum {
  readonly #hash: Hash = createHash('sha256');
  #lists = 0;
  #objects = 0;
  #tombstones = 0;

  add(name: string, { lists, objects, tombstones, digest }: Side): void {
    if (lists === 0) return;
    this.#hash.update(`${JSON.stringify([name, digest])}\n`);
    this.#lists++;
    this.#objects += objects;
    this.#tombstones += tombstones;
  }

  result(): Side {
    const [lists, objects, tombstones] = [this.#lists, this.#objects, this.#tombstones];
    return { lists, objects, tombstones, digest: this.#hash.digest('hex') };
  }
}
