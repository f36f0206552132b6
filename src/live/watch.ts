// The lists that are followed, and what is known of their clocks.
import type { ChangeHint } from '../contracts/change-hints.ts';
import { keyOfList, type ListName } from '../core/lists/list-key.ts';
import type { ListKey } from '../core/objects/stored.ts';

/** What wants to know of changes of a list. */
export interface Follower {
  /** The list may have changed. */
  changed(): void;
  /** Everything was deleted. */
  flushed(): void;
}

/** One followed list. */
export class Watch {
  readonly list: ListKey;
  readonly followers = new Set<Follower>();
  /** Clock at the last look at it; `undefined`: none yet. */
  clock: number | undefined;

  constructor(list: ListKey) {
    this.list = list;
  }
}

export class Watches {
  readonly #all = new Map<ListName, Watch>();

  get size(): number {
    return this.#all.size;
  }

  get all(): Iterable<Watch> {
    return this.#all.values();
  }

  /** Returns the watch of the list, which lasts for as long as it has followers. */
  of(list: ListKey): Watch {
    const key = keyOfList(list);
    let watch = this.#all.get(key);
    if (watch === undefined) {
      watch = new Watch(list);
      this.#all.set(key, watch);
    }
    return watch;
  }

  /** Removes a follower. */
  leave(watch: Watch, follower: Follower): void {
    watch.followers.delete(follower);
    if (watch.followers.size === 0) this.#all.delete(keyOfList(watch.list));
  }

  /**
   * Passes hints on to the followers that they concern.
   *
   * @returns whether hints are missing, so that only the clocks say what has changed
   */
  announce(hints: readonly ChangeHint[]): boolean {
    if (this.#all.size === 0) return false;
    let areMissing = false;
    for (const hint of hints) {
      if ('list' in hint) {
        const watch = this.#all.get(keyOfList(hint.list));
        if (watch !== undefined) for (const follower of watch.followers) follower.changed();
        continue;
      }
      if ('any' in hint) {
        areMissing = true;
        continue;
      }
      for (const { list, followers } of this.#all.values()) {
        if ('below' in hint && list.parent !== hint.below && !list.parent.startsWith(`${hint.below}/`)) continue;
        for (const follower of followers) {
          if ('flushed' in hint) follower.flushed();
          else follower.changed();
        }
      }
    }
    return areMissing;
  }

  /** Makes all clients fetch their lists again. */
  flushed(): void {
    for (const { followers } of this.#all.values()) for (const follower of followers) follower.flushed();
  }
}
