// Figures about the stores: their size, the number of objects by kind, and the largest collections. Measured at intervals in
// the background and never more than a hundredth of the time, because many lists take long to read.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../contracts/logger.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { ListParent } from '../../core/objects/uris.ts';
import type { Stores } from '../../engine/unit-of-work.ts';
import { ringNames, ringSizes, type RingName } from './figures.ts';
import { TimeRing, type Step } from './time-ring.ts';

export interface CollectionSize {
  readonly uri: ListParent;
  readonly records: number;
}

export interface StoreState {
  /** Milliseconds since 1970 UTC. */
  readonly measured: number;
  readonly sizeBytes: number | null;
  /** Live objects by kind. */
  readonly objects: ReadonlyMap<string, number>;
  /** The collections with the most records, largest first. */
  readonly largest: readonly CollectionSize[];
  /** Whether all lists were read. */
  readonly isComplete: boolean;
}

interface StoreStep {
  state: StoreState | undefined;
}

const intervalMs = 60_000;
/** Age from which a request for figures measures again. */
const staleMs = 10_000;
/** Pauses are at least this number of times as long as the measurement before. */
const idleFactor = 100;
const maxLargest = 20;
const maxLists = 10_000;
const pageSize = 1000;

export class StoreFigures {
  readonly #stores: Stores;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #rings: Readonly<Record<RingName, TimeRing<StoreStep>>>;
  #state: StoreState | undefined;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #durationMs = 0;
  #isStopped = false;

  constructor(stores: Stores, clock: Clock, logger: Logger) {
    this.#stores = stores;
    this.#clock = clock;
    this.#logger = logger;
    const create = (): StoreStep => ({ state: undefined });
    this.#rings = {
      hour: new TimeRing({ ...ringSizes.hour, create }),
      day: new TimeRing({ ...ringSizes.day, create }),
    };
  }

  /** Returns the last state, after a new measurement if it is old and the measurement short. */
  async read(): Promise<StoreState | undefined> {
    const age = this.#state === undefined ? Infinity : this.#clock.now() - this.#state.measured;
    if (age >= Math.max(staleMs, idleFactor * this.#durationMs)) await this.measure();
    return this.#state;
  }

  /** Returns the states by step, oldest first. */
  steps(name: RingName): readonly Step<StoreStep>[] {
    return this.#rings[name].until(this.#clock.now());
  }

  /** Adds the last state to the current steps. */
  note(): void {
    const now = this.#clock.now();
    for (const name of ringNames) this.#rings[name].at(now).state = this.#state;
  }

  /** Measures now, unless a measurement is under way, and again at intervals. */
  start(): void {
    void this.measure().then(() => {
      if (this.#isStopped) return;
      this.#timer = setTimeout(() => this.start(), Math.max(intervalMs, idleFactor * this.#durationMs));
      this.#timer.unref();
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Measures; concurrent callers share one measurement. Failures leave the last state. */
  measure(): Promise<void> {
    this.#running ??= this.#measure().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #measure(): Promise<void> {
    if (this.#isStopped) return;
    const startedAt = performance.now();
    try {
      const [sizeBytes, counts, lists] = await Promise.all([
        this.#readSize(),
        this.#stores.storage.reader.countKinds(),
        this.#findLargest(),
      ]);
      const objects = new Map(Array.from(counts, ([kind, count]) => [kind, count.objects] as const));
      this.#state = { measured: this.#clock.now(), sizeBytes, objects, ...lists };
      this.note();
    } catch (error) {
      // The checks of health report what is broken.
      this.#logger.debug({ err: error }, 'The stores could not be measured');
    } finally {
      this.#durationMs = performance.now() - startedAt;
    }
  }

  async #readSize(): Promise<number | null> {
    const { storage, permission } = this.#stores;
    const databases = [...new Set([storage.database, permission.database])];
    const sizes = await Promise.all(databases.map(async (database) => (await database.readSizeBytes?.()) ?? null));
    return sizes.reduce((sum, size) => (sum === null || size === null ? null : sum + size), 0);
  }

  async #findLargest(): Promise<Pick<StoreState, 'largest' | 'isComplete'>> {
    let largest: readonly CollectionSize[] = [];
    let after: ListKey | undefined;
    for (let read = 0; read < maxLists && !this.#isStopped; read += pageSize) {
      const lists = await this.#stores.storage.reader.lists(after, pageSize);
      const sizes = lists
        .filter(({ kind, live }) => kind === 'record' && live > 0)
        .map(({ parent, live }) => ({ uri: parent, records: live }));
      largest = [...largest, ...sizes]
        .toSorted((a, b) => b.records - a.records || (a.uri < b.uri ? -1 : 1))
        .slice(0, maxLargest);
      after = lists.at(-1);
      if (lists.length < pageSize) return { largest, isComplete: true };
    }
    return { largest, isComplete: false };
  }
}
