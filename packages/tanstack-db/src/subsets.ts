// Which subsets queries have requested, which lists were read for them, and which rows belong to them.
import type { LoadSubsetOptions } from '@tanstack/db';
import type { Incoming } from './copy.ts';
import { covers, type Plan } from './plan.ts';
import { matchesCondition } from './match.ts';
import type { Condition } from './selector.ts';

/** A list that was read, or is being read. */
interface Entry {
  readonly key: string;
  readonly selector: Condition | undefined;
  /** Whether all objects that match were read. */
  readonly isComplete: boolean;
  /** Ids of the rows that belong to it. */
  readonly rows: Set<string>;
  readonly controller: AbortController;
  /** Whether a changed object belongs to it. */
  readonly accepts: (object: Incoming, row: object) => boolean;
  /** Number of requests that need it. */
  users: number;
  load: Promise<void>;
  isLoaded: boolean;
  /** Whether the rows are kept up to date. Not after the copy was emptied. */
  isValid: boolean;
}

export interface SubsetsOptions {
  /** Reads the objects of a plan, writes them, and returns their ids. */
  readonly load: (plan: Plan, signal: AbortSignal) => Promise<readonly string[]>;
  /** Removes rows from the copy. */
  readonly forget: (ids: readonly string[]) => void;
  /** Milliseconds that the rows of a subset remain after its last query. */
  readonly keepMs: number;
}

export class Subsets {
  readonly #options: SubsetsOptions;
  readonly #entries = new Map<string, Entry>();
  /** By request, the oldest first: TanStack DB may request the same again before it releases the first one. */
  readonly #acquired = new Map<LoadSubsetOptions, Entry[]>();
  /** Rows that this client has written remain. */
  readonly #pinned = new Set<string>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();

  constructor(options: SubsetsOptions) {
    this.#options = options;
  }

  /**
   * Makes sure that the rows of a subset are there.
   *
   * @param key identifies the request
   * @returns `true` if they are already
   */
  acquire(options: LoadSubsetOptions, plan: Plan, key: string): true | Promise<void> {
    if (plan.selector === false) return true;
    const isComplete = plan.segments.length === 1 && plan.segments[0]?.need === undefined;
    const selector = typeof plan.selector === 'object' ? plan.selector : undefined;
    const id = isComplete ? `all ${JSON.stringify(selector)}` : key;
    const found = options.refetch === true ? undefined : this.#find(id, selector);
    const entry = found ?? this.#begin(id, selector, isComplete, plan);
    entry.users++;
    const acquired = this.#acquired.get(options);
    if (acquired === undefined) this.#acquired.set(options, [entry]);
    else acquired.push(entry);
    return entry.isLoaded ? true : withSignal(entry.load, options.signal);
  }

  /** Ends a request. */
  release(options: LoadSubsetOptions): void {
    const acquired = this.#acquired.get(options);
    const entry = acquired?.shift();
    if (acquired?.length === 0) this.#acquired.delete(options);
    if (entry === undefined || --entry.users > 0 || !entry.isValid) return;
    if (!entry.isLoaded) this.#discard(entry);
    else {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        if (entry.users === 0 && entry.isValid) this.#discard(entry);
      }, this.#options.keepMs);
      (timer as { unref?: () => void }).unref?.();
      this.#timers.add(timer);
    }
  }

  /** Notes a changed object. Returns whether a subset contains it. */
  note(object: Incoming, row: object): boolean {
    let isWanted = this.#pinned.has(object.id);
    for (const entry of this.#entries.values()) {
      if (entry.rows.has(object.id)) isWanted = true;
      else if (entry.accepts(object, row)) {
        entry.rows.add(object.id);
        isWanted = true;
      }
    }
    return isWanted;
  }

  /** Keeps a row that this client has written. */
  pin(id: string): void {
    this.#pinned.add(id);
  }

  /** Whether a row belongs to a subset, or is one that this client has written. */
  readonly holds = (id: string): boolean =>
    this.#pinned.has(id) || [...this.#entries.values()].some(({ rows }) => rows.has(id));

  /** All rows were removed: TanStack DB requests what it needs again. */
  invalidate(): void {
    for (const entry of this.#entries.values()) entry.isValid = false;
    this.#entries.clear();
    this.#pinned.clear();
  }

  close(): void {
    for (const entry of this.#entries.values()) entry.controller.abort();
    this.invalidate();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#acquired.clear();
  }

  #find(id: string, selector: Condition | undefined): Entry | undefined {
    const same = this.#entries.get(id);
    if (same !== undefined) return same;
    for (const entry of this.#entries.values()) if (entry.isComplete && covers(entry.selector, selector)) return entry;
    return undefined;
  }

  #begin(key: string, selector: Condition | undefined, isComplete: boolean, plan: Plan): Entry {
    const controller = new AbortController();
    const previous = this.#entries.get(key);
    const entry: Entry = {
      key,
      selector,
      isComplete,
      rows: new Set(previous?.rows),
      controller,
      accepts: isComplete ? (object) => matchesCondition(selector, object) : (_, row) => plan.accepts(row),
      users: 0,
      isLoaded: false,
      isValid: true,
      load: Promise.resolve(),
    };
    // A repeated read takes the place of the first one, with its rows.
    this.#entries.set(key, entry);
    entry.load = this.#options.load(plan, controller.signal).then(
      (ids) => {
        for (const id of ids) entry.rows.add(id);
        entry.isLoaded = true;
      },
      (error: unknown) => {
        // The queries of an earlier read still show its rows.
        if (this.#remove(entry) && previous?.isValid) {
          for (const row of entry.rows) previous.rows.add(row);
          this.#entries.set(key, previous);
        }
        throw error;
      },
    );
    entry.load.catch(() => undefined);
    return entry;
  }

  #discard(entry: Entry): void {
    entry.isValid = false;
    entry.controller.abort();
    this.#remove(entry);
    this.#options.forget([...entry.rows].filter((id) => !this.holds(id)));
  }

  /** Returns whether it was still the entry of its key. */
  #remove(entry: Entry): boolean {
    return this.#entries.get(entry.key) === entry && this.#entries.delete(entry.key);
  }
}

/** Waits for a read that several requests share, until this one is cancelled. */
function withSignal(load: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return load;
  return new Promise((resolve, reject) => {
    const cancel = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', cancel);
    load.then(resolve, reject).finally(() => signal.removeEventListener('abort', cancel));
    if (signal.aborted) cancel();
  });
}
