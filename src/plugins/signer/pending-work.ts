// What the changes of one event leave to do. Clients can change a status many times in a batch. Targets are signed once at the
// end, and records are not compared again before some of them were written.
import type { JsonObject } from '../../base/json.ts';
import type { CollectionOptions } from './options.ts';
import type { Difference } from './records.ts';
import { placeUri, type CollectionId } from './routes.ts';

/** A preview or destination to sign. */
export interface Unsigned {
  readonly options: CollectionOptions;
  readonly target: CollectionId;
  /** Attributes of the source to copy; absent: the copied attributes stay unchanged. */
  readonly source?: JsonObject | undefined;
}

export class PendingWork {
  readonly #unsigned = new Map<string, Unsigned>();
  readonly #differences = new Map<string, Difference>();

  /** Signs the target at the end. */
  sign({ options, target, source }: Unsigned): void {
    const uri = placeUri(target);
    this.#unsigned.set(uri, { options, target, source: source ?? this.#unsigned.get(uri)?.source });
  }

  /** The target is gone. */
  forget(target: CollectionId): void {
    this.#unsigned.delete(placeUri(target));
  }

  takeUnsigned(): readonly Unsigned[] {
    const all = [...this.#unsigned.values()];
    this.#unsigned.clear();
    return all;
  }

  /**
   * Returns the difference between the records of two collections.
   *
   * @param compare called when the difference is not known
   */
  async difference(
    [from, to]: readonly [CollectionId, CollectionId],
    compare: () => Promise<Difference>,
  ): Promise<Difference> {
    const key = `${placeUri(from)} ${placeUri(to)}`;
    const known = this.#differences.get(key) ?? (await compare());
    this.#differences.set(key, known);
    return known;
  }

  /** Records were written. */
  forgetDifferences(): void {
    this.#differences.clear();
  }
}
