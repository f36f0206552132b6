// One sync run of a collection: follows the list, keeps the copy, and reads subsets.
import { isRemoval, type LiveUpdate } from '@coffer/client';
import { getLoadSubsetDemandKey } from '@tanstack/db';
import {
  collect,
  Copy,
  nowhere,
  type CopyCursor,
  type Incoming,
  type LoadSubsetOptions,
  type SyncParams,
} from './copy.ts';
import { isRefusal, retryAfterOf } from './failures.ts';
import { evaluate, matchesCondition } from './match.ts';
import { planSubset, type Plan } from './plan.ts';
import { orPolls, pollChanges } from './poll.ts';
import type { RunOptions } from './run-options.ts';
import { SubsetReader } from './subset-reader.ts';
import { Subsets } from './subsets.ts';
import { gate, Pause, renewed, Waiting } from './waiting.ts';

/** State of the connection. */
export type LiveStatus = 'connecting' | 'live' | 'waiting' | 'refused' | 'stopped';

type Update = LiveUpdate<Incoming>;

const firstPauseMs = 500;
const maxPauseMs = 30_000;
/** Longest pause before everything is read again for a store that goes on failing. */
const maxRepairPauseMs = 3_600_000;

export class SyncRun<T extends object> {
  readonly copy: Copy<T>;
  status: LiveStatus = 'connecting';
  lastError: unknown;
  readonly #params: SyncParams<T>;
  readonly #options: RunOptions;
  readonly #subsets: Subsets;
  readonly #reader: SubsetReader;
  readonly #source: string;
  readonly #ended = new AbortController();
  readonly #waiting = new Waiting();
  #session = new AbortController();
  /** Opens when changes after the begin of the session are followed: subsets that are read from now on miss nothing. */
  #started = gate();
  #cursor: string | undefined;
  #isReady = false;
  /** Whether the whole list is in the copy. */
  #isComplete = false;
  /** What a session begins with after `refetch` or a resync. */
  #begin: 'continue' | 'replace' | 'truncate' = 'continue';
  /** Between polls and sessions. */
  readonly #pause = new Pause();
  /** How often the copy was emptied. */
  #epoch = 0;
  #losses = 0;
  #repairTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(params: SyncParams<T>, options: RunOptions) {
    this.#params = params;
    this.#options = options;
    this.copy = new Copy(params, { ...options, ended: this.#ended.signal, onLoss: (error) => this.#repair(error) });
    this.#source = JSON.stringify([options.list.path, options.filter ?? null, options.syncMode === 'on-demand']);
    this.#reader = new SubsetReader({ ...options, base: options.filter, rowOf: (object) => this.copy.rowOf(object) });
    this.#subsets = new Subsets({
      keepMs: options.keepSubsetMs,
      load: (plan, signal) => this.#read(plan, signal),
      forget: (ids) => this.copy.forget(ids),
    });
    void this.#run();
  }

  get #isEnded(): boolean {
    return this.#ended.signal.aborted;
  }

  get cursor(): string | undefined {
    return this.#cursor;
  }

  /** Ends the run. */
  readonly cleanup = (): void => {
    this.status = 'stopped';
    clearTimeout(this.#repairTimer);
    this.#ended.abort();
    this.#session.abort();
    this.#subsets.close();
    this.#started.fail(this.#ended.signal.reason);
    this.#waiting.end();
  };

  /** Loads the rows that a query needs. */
  readonly loadSubset = (options: LoadSubsetOptions): true | Promise<void> => {
    if (this.#isComplete) return true;
    const { fields, filter } = this.#options;
    const plan = planSubset(options, { codecs: fields, base: filter, evaluate });
    return this.#subsets.acquire(options, plan, getLoadSubsetDemandKey(options) ?? '');
  };

  readonly unloadSubset = (options: LoadSubsetOptions): void => this.#subsets.release(options);

  /** Reads everything again. Resolves when the copy is current. @throws CofferError when the service refuses access */
  async refetch(): Promise<void> {
    if (this.#isEnded) return;
    if (this.#options.syncMode === 'on-demand') {
      this.#renew('truncate');
      await this.#started.opened;
      return;
    }
    this.#renew('replace');
    await this.#waiting.until(() => this.#begin === 'continue' || this.status === 'refused', 0);
    if (this.#begin !== 'continue' && this.status === 'refused') throw this.lastError;
  }

  /** Connects again at once, also after the service has refused access. */
  retry(): void {
    if (this.status === 'refused') this.#renew('truncate');
    this.#pause.end();
  }

  /** Keeps rows that this client is about to write: the stream may have them before the response arrives. */
  expect(ids: readonly string[]): void {
    for (const id of ids) this.#subsets.pin(id);
  }

  /** Waits until the copy has these states. After the time limit, the given states are applied in place of the stream's. */
  async confirm(states: readonly Incoming[]): Promise<void> {
    if (this.#isEnded || states.length === 0) return;
    // A pause between polls ends.
    this.#pause.end();
    const absent = states.filter((state) => state['absent'] === true);
    const present = states.filter((state) => state['absent'] !== true);
    // Others may have created the record again, which the stream tells without the deletion before it.
    const isLeft = ({ id, last_modified }: Incoming): boolean =>
      this.copy.has(id) && !this.copy.hasReached(id, last_modified + 1);
    const isReached = (): boolean =>
      present.every(
        (state) => this.copy.hasReached(state.id, state.last_modified) || this.#isPast(state.last_modified),
      ) && absent.every((state) => !isLeft(state));
    const { confirmTimeoutMs, filter } = this.#options;
    if (await this.#waiting.until(isReached, confirmTimeoutMs)) return;
    const visible = present.map((state) => {
      if (isRemoval(state) || matchesCondition(filter, state)) return state;
      return { id: state.id, last_modified: state.last_modified, gone: true };
    });
    void this.copy.apply(visible);
    this.copy.forget(absent.filter(isLeft).map(({ id }) => id));
  }

  /** Waits until the stream has reached a timestamp. Returns whether it has within the time. */
  awaitTimestamp(timestamp: number, timeoutMs: number): Promise<boolean> {
    this.#pause.end();
    return this.#waiting.until(() => this.#isPast(timestamp), timeoutMs);
  }

  #isPast(timestamp: number): boolean {
    return Number(this.#cursor) >= timestamp;
  }

  /** Whether the copy is one of single objects, which cannot be continued. */
  get #isPart(): boolean {
    return /^0./.test(this.#cursor ?? '');
  }

  /** Ends the session; the next one begins in the given way. */
  #renew(begin: 'replace' | 'truncate'): void {
    this.#begin = begin;
    this.status = 'connecting';
    if (begin === 'truncate') this.#cursor = undefined;
    this.#started = renewed(this.#started);
    this.#session.abort();
    this.#pause.end();
  }

  /** Reads everything again, after a pause that grows with each loss. Until then, the rows in memory follow the list. */
  #repair(error: unknown): void {
    this.#report(error);
    clearTimeout(this.#repairTimer);
    this.#repairTimer = setTimeout(
      () => {
        if (this.copy.hasLoss && this.status !== 'refused') this.#renew('truncate');
      },
      Math.min(maxRepairPauseMs, firstPauseMs * 2 ** this.#losses++),
    );
  }

  #report(error: unknown): void {
    // In a task of its own: what it throws does not end the run.
    queueMicrotask(() => this.#options.onError?.(error));
  }

  async #run(): Promise<void> {
    let isRead = false;
    let failures = 0;
    while (!this.#isEnded) {
      this.#session = new AbortController();
      try {
        if (!isRead) await this.#readPersisted();
        isRead = true;
        await (this.#options.syncMode === 'on-demand' ? this.#followChanges() : this.#followAll());
        failures = 0;
        await this.#rest(firstPauseMs);
      } catch (error) {
        if (this.#session.signal.aborted) continue;
        if (this.status === 'live') failures = 0;
        await this.#fail(error, failures++);
      }
    }
  }

  async #readPersisted(): Promise<void> {
    await this.copy.readPersisted();
    if (this.#begin === 'continue') this.#cursor = this.copy.storedCursor(this.#source);
    // The rows of a persisted copy are usable without a connection.
    if (this.#cursor !== undefined) this.#markReady();
  }

  /** Follows changes of rows that are loaded. */
  async #followChanges(): Promise<void> {
    const { list, filter } = this.#options;
    const { signal } = this.#session;
    if (this.#cursor === undefined || this.#isPart) {
      const { etag } = await list.list({ filter: filter as never, limit: 1, fields: ['id'] as never[], signal }).page();
      this.#cursor = etag;
      const isFirst = !this.#isReady && this.#begin === 'continue' && this.copy.size === 0;
      this.#begin = 'continue';
      if (!isFirst) this.#empty();
    }
    this.#connected();
    this.#started.open();
    this.#markReady();
    for await (const update of this.#updates(this.#cursor, signal)) {
      const isAccess = update.resync === 'access';
      if ((update.resync !== undefined && !isAccess) || this.#isBehind(update)) {
        this.#renew('truncate');
        return;
      }
      // A caller that sees single objects would get it again each time: it receives them all.
      if (isAccess) this.#empty(update.cursor);
      const changes = update.changes as readonly Incoming[];
      this.#reader.observe(changes);
      const wanted = new Set(changes.filter((change) => this.#belongs(change)).map(({ id }) => id));
      this.#cursor = update.cursor;
      void this.copy.apply(changes, { keep: ({ id }) => wanted.has(id), cursor: this.#position() });
      this.#connected();
      this.#waiting.check();
    }
  }

  /** Empties the copy, and lets queries request their subsets again. */
  #empty(cursor = this.#cursor): void {
    this.#cursor = cursor;
    this.#epoch++;
    this.#subsets.invalidate();
    void this.copy.replace([], { cursor: this.#position(), truncate: true });
  }

  #belongs(change: Incoming): boolean {
    return !isRemoval(change) && this.#subsets.note(change, this.copy.rowOf(change));
  }

  /** Follows the whole list: first a complete copy, then changes. */
  async #followAll(): Promise<void> {
    const { signal } = this.#session;
    const since = this.#begin === 'continue' && !this.#isPart ? this.#cursor : undefined;
    let truncates = this.#begin === 'truncate' || this.#isPart;
    this.#begin = since === undefined && this.#begin === 'continue' ? 'replace' : this.#begin;
    /** The complete copy that arrives; absent while changes are followed. */
    let arriving = since === undefined ? new Map<string, Incoming>() : undefined;
    if (arriving === undefined) this.#isComplete = true;
    this.#started.open();
    for await (const update of this.#updates(since, signal)) {
      if (this.#isBehind(update)) {
        this.#renew('truncate');
        return;
      }
      if (update.resync !== undefined) {
        arriving = new Map();
        truncates = true;
      }
      const changes = update.changes as readonly Incoming[];
      if (arriving !== undefined) {
        collect(arriving, changes);
        if (!update.current) continue;
        if (!this.#isReady) await this.#options.beforeReady?.();
        if (signal.aborted) return;
      }
      this.#cursor = update.cursor;
      this.#begin = 'continue';
      // Before the rows change: subscribers may look at it.
      this.#connected();
      if (arriving === undefined) void this.copy.apply(changes, { cursor: this.#position() });
      else {
        const options = truncates ? { truncate: true } : { keeps: this.#subsets.holds };
        this.#isComplete = true;
        void this.copy.replace([...arriving.values()], { cursor: this.#position(), ...options });
        arriving = undefined;
        truncates = false;
        this.#subsets.invalidate();
      }
      this.#markReady();
      this.#waiting.check();
    }
  }

  /** Whether the service is older than the copy: it was restored from a backup. */
  #isBehind(update: Update): boolean {
    return update.current && Number(update.cursor) < Number(this.#cursor);
  }

  #updates(since: string | undefined, signal: AbortSignal): AsyncIterable<Update> {
    const { list, filter, transport, pollMs } = this.#options;
    const condition = { filter: filter as never };
    const poll = (): AsyncIterable<Update> =>
      pollChanges(list, { ...condition, since, signal, pause: () => this.#rest(pollMs) });
    if (transport === 'none') return poll();
    const followed = list.live({ ...condition, since: since as never, transport, signal });
    return orPolls(followed as AsyncIterable<Update>, poll);
  }

  /** @param milliseconds 0: until `retry` or the end of the session */
  #rest(milliseconds: number): Promise<void> {
    return this.#pause.wait(milliseconds, this.#session.signal);
  }

  #position(): CopyCursor | undefined {
    return this.#cursor === undefined ? undefined : { source: this.#source, cursor: this.#cursor };
  }

  #connected(): void {
    this.status = 'live';
    this.lastError = undefined;
  }

  #markReady(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#params.markReady();
  }

  async #read(plan: Plan, signal: AbortSignal): Promise<readonly string[]> {
    for (;;) {
      await this.#started.opened;
      const epoch = this.#epoch;
      const endRead = this.copy.beginRead();
      try {
        const objects = await this.#reader.read(plan.segments, signal);
        // What was read before the whole list was there may have been deleted since.
        if (signal.aborted || this.#isComplete) return [];
        // What was read before the copy was emptied may lack changes since then.
        if (epoch !== this.#epoch) continue;
        await this.copy.apply(objects);
        return objects.map(({ id }) => id);
      } finally {
        endRead();
      }
    }
  }

  /** Waits before the next session: a growing time, or what the service asks for, or for `retry` if the service refuses access. */
  async #fail(error: unknown, failures: number): Promise<void> {
    this.lastError = error;
    this.#report(error);
    const isRefused = isRefusal(error, 401, 403, 404);
    if (!isRefused) {
      this.status = 'waiting';
      const pauseMs = Math.min(maxPauseMs, firstPauseMs * 2 ** failures) * (0.5 + Math.random() / 2);
      await this.#rest(Math.max(pauseMs, retryAfterOf(error)));
      return;
    }
    this.status = 'refused';
    this.#started = renewed(this.#started);
    this.#started.fail(error);
    if (error.status !== 401 && this.#options.whenRefused === 'clear' && this.copy.size > 0) {
      this.#isComplete = false;
      this.#cursor = undefined;
      this.#epoch++;
      this.#subsets.invalidate();
      // No `truncate`: queries show the rows from before it until they have others. And a stored position without its rows
      // would be continued when access is granted again.
      this.copy.forget(undefined, nowhere);
    }
    // Last: queries on a collection with an error see no changes.
    if (!this.#isReady) this.#params.markError(error);
    this.#waiting.check();
    await this.#rest(0);
    this.#started = gate();
  }
}
