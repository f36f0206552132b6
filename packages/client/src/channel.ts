// One connection of live updates, for one list or several. Reconnects until its lists have left it.
import { createEventReader, type StreamEvent } from './event-stream.ts';
import { CofferError } from './errors.ts';
import { readPage } from './listing.ts';
import { check, errorOf, isTemporary, pause, read, type Opened, type Transport } from './transport.ts';
import type { LiveOptions, ResyncReason } from './types.ts';
import type { Watch } from './watch.ts';

/** The service accepts this number of lists in one request. */
const maxLists = 50;
/** Length of an address that all proxies accept. */
const maxAddressChars = 6000;
/** Time in which lists that are followed together join one connection. */
const gatheringMs = 5;
const pollSeconds = 20;

const eventStream = 'text/event-stream';

/** Data of an event. */
interface Frame {
  readonly watch: number;
  readonly data?: Parameters<Watch['push']>[0];
  readonly reason?: ResyncReason;
  readonly code?: number;
}

/** What belongs to one connection. */
interface Session {
  readonly opened: Opened;
  /** Who follows each list of the request, in its order. */
  readonly groups: readonly (readonly Watch[])[];
  /** Those whose further events do not count. */
  readonly restarted: Set<Watch>;
}

export class Channel {
  readonly #transport: Transport;
  readonly #isShared: boolean;
  readonly #mode: LiveOptions<never>['transport'];
  readonly #watches = new Set<Watch>();
  /** Aborted when the connection has to begin anew. */
  #restart = new AbortController();
  #isRunning = false;
  /** Failures since something was received. */
  #failures = 0;
  #retryMs = 1000;
  #pollUntil = 0;

  constructor(transport: Transport, isShared: boolean, mode: LiveOptions<never>['transport']) {
    this.#transport = transport;
    this.#isShared = isShared;
    this.#mode = mode;
  }

  get #isPolling(): boolean {
    return this.#mode === 'poll' || performance.now() < this.#pollUntil;
  }

  hasRoom(watch: Watch): boolean {
    const groups = groupsOf([watch, ...this.#watches]);
    return groups.size <= maxLists && queryOf(groups).length < maxAddressChars;
  }

  add(watch: Watch): void {
    this.#watches.add(watch);
    if (this.#isRunning) this.#restart.abort();
    else void this.#run();
  }

  remove(watch: Watch): void {
    // The other lists need no new connection: what arrives for this one is ignored.
    if (this.#watches.delete(watch) && this.#watches.size === 0) this.#restart.abort();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // What was polled before may have been missing lists.
    this.#pollUntil = 0;
    for (;;) {
      await pause(gatheringMs);
      if (this.#watches.size === 0) break;
      this.#restart = new AbortController();
      const { signal } = this.#restart;
      let waitMs: number;
      try {
        waitMs = this.#isPolling ? await this.#poll(signal) : await this.#stream(signal);
      } catch (error) {
        if (signal.aborted) continue;
        waitMs = this.#failed(error);
      }
      await rest(waitMs, signal);
    }
    this.#isRunning = false;
  }

  /** Returns the pause after a failure, in milliseconds. An error that repetition does not help ends the lists. */
  #failed(error: unknown, watches: Iterable<Watch> = this.#watches): number {
    this.#failures += 1;
    const known = error instanceof CofferError ? error : undefined;
    if (known?.isFromService && !isTemporary(known.status)) {
      for (const watch of watches) this.#close(watch, known);
    }
    return this.#transport.drawPause(this.#failures, known?.retryAfterMs);
  }

  #close(watch: Watch, error: CofferError): void {
    // A complete copy needs nothing that is not known any more: then, and with number 202, it is the service that has gone.
    if (error.status === 410 && error.errno !== 202 && watch.cursor !== '0') return watch.restart('horizon');
    this.#watches.delete(watch);
    // What looked like a service without streams may have been the refusal of these lists.
    if (this.#watches.size === 0) this.#pollUntil = 0;
    watch.close(error);
  }

  /** Follows all lists on one connection until it ends. Returns the pause before the next one. */
  async #stream(signal: AbortSignal): Promise<number> {
    const watches = [...this.#watches];
    const groups = groupsOf(watches);
    // Those that have joined with one cursor may have several after they were polled.
    if (groups.size > maxLists) return this.#beginPolling();
    const { openingMs = 10_000, silenceMs = 45_000 } = this.#transport.liveTimes;
    const request = {
      method: 'GET',
      path: `/live?${queryOf(groups)}`,
      headers: { Accept: eventStream },
      signal,
    };
    let opened: Opened | undefined;
    let hasBegun = false;
    try {
      opened = await this.#transport.open(request, openingMs);
      const { response, extend, failed } = opened;
      const { status, body } = response;
      if (!body || !response.headers.get('Content-Type')?.startsWith(eventStream)) {
        // A service without live updates, or a proxy that knows nothing of them. Missing lists end when they are polled.
        if (this.#mode === 'auto' && (response.ok || [404, 405, 406, 415].includes(status)))
          return this.#beginPolling();
        if (isTemporary(status) || (this.#mode === 'sse' && status !== 410)) {
          check(await read(opened));
          throw new CofferError('parse', 'Not a stream', { status });
        }
        // The response is that of one list: a poll of each finds out which of them are refused, and why.
        return await this.#poll(signal);
      }
      extend(openingMs);
      for (const watch of watches) watch.begin();
      const reader = body.getReader();
      const readEvents = createEventReader();
      const session = { groups: [...groups.values()], opened, restarted: new Set<Watch>() };
      for (;;) {
        const { done, value } = await reader.read().catch((error: unknown) => {
          throw failed(error);
        });
        // An empty stream does not get through.
        if (done) return hasBegun || this.#mode !== 'auto' ? this.#transport.drawPause(2) : this.#beginPolling();
        hasBegun = true;
        extend(0);
        let waitMs: number | undefined;
        // Events that arrived together become one update, because nothing is awaited between them.
        for (const event of readEvents(value)) {
          const result = this.#receive(event, session);
          waitMs = (result instanceof Promise ? await result : result) ?? waitMs;
        }
        if (waitMs !== undefined) return waitMs;
        for (const watch of watches) await this.#waitForRoom(watch, signal);
        if (signal.aborted) return 0;
        extend(silenceMs);
      }
    } catch (error) {
      if (hasBegun || this.#mode !== 'auto' || !(error instanceof CofferError && error.kind === 'timeout')) throw error;
      return this.#beginPolling();
    } finally {
      opened?.end();
    }
  }

  #beginPolling(): number {
    this.#pollUntil = performance.now() + (this.#transport.liveTimes.pollingMs ?? 600_000);
    return 0;
  }

  /** Handles an event. Returns a pause if the connection has to begin anew after it. */
  #receive(
    { event, id, data = '{}', retry }: StreamEvent,
    session: Session,
  ): number | undefined | Promise<number | undefined> {
    if (retry !== undefined) this.#retryMs = Math.min(Number(retry) || 0, this.#transport.maxPauseMs);
    if (event === 'end') return this.#retryMs;
    const frame = JSON.parse(data) as Frame;
    const group = session.groups[frame.watch]?.filter(
      (each) => this.#watches.has(each) && !session.restarted.has(each),
    );
    if (!group?.length) return undefined;
    if (event === 'refused') return this.#refused(group, frame, session);
    this.#failures = 0;
    const part = id?.split('.')[frame.watch];
    const cursor = part?.replace(/[^0].*/, (digits) => `${Number.parseInt(digits, 36)}`);
    for (const watch of group) {
      if (event === 'resync') {
        session.restarted.add(watch);
        watch.restart(frame.reason ?? 'horizon');
      } else {
        // Each consumer may change what it gets.
        const changes = watch === group[0] ? frame.data : structuredClone(frame.data);
        watch.push(changes ?? [], event === 'current', cursor || undefined);
      }
    }
    return event === 'resync' ? 0 : undefined;
  }

  /** Waits for a consumer that has too much to read. On a shared connection, one that takes nothing is left behind. */
  async #waitForRoom(watch: Watch, signal: AbortSignal): Promise<void> {
    while (watch.isFull && !watch.isClosed && !watch.isStalled && !signal.aborted) {
      const { stallMs = 10_000 } = this.#transport.liveTimes;
      const timer = setTimeout(() => {
        if (!this.#isShared) return;
        watch.stall();
        this.remove(watch);
      }, stallMs);
      await watch.changed();
      clearTimeout(timer);
    }
  }

  /** A list may not be read, or its changes are not known any more. Returns a pause if it is tried again. */
  async #refused(group: readonly Watch[], frame: Frame, session: Session): Promise<number | undefined> {
    const status = frame.code!;
    const isAgain =
      status === 401 && group[0]!.refusals === 0 && (await this.#transport.renew(session.opened.credentials));
    for (const watch of group) {
      session.restarted.add(watch);
      watch.refusals += 1;
      if (!isAgain) this.#close(watch, errorOf(status, frame));
    }
    return isAgain || status === 410 ? 0 : undefined;
  }

  /** Polls all lists, a few at a time, until streams are tried again. */
  async #poll(signal: AbortSignal): Promise<number> {
    const waiting = [...this.#watches];
    const seconds = Math.max(1, Math.floor(pollSeconds / Math.ceil(waiting.length / 2)));
    const work = async (): Promise<void> => {
      while (!signal.aborted) {
        const watch = waiting.shift();
        if (watch === undefined) return;
        if (!this.#watches.has(watch)) continue;
        try {
          await this.#pollOne(watch, seconds, signal);
          this.#failures = 0;
        } catch (error) {
          await rest(this.#failed(error, [watch]), signal);
        }
        if (this.#isPolling) waiting.push(watch);
      }
    };
    // Two lists at the same time: browsers open six connections to a service.
    await Promise.all([work(), work()]);
    return 0;
  }

  async #pollOne(watch: Watch, seconds: number, signal: AbortSignal): Promise<void> {
    const beginning = performance.now();
    watch.begin();
    // The first answer completes the copy, also if nothing has changed: it does not wait.
    const waits = watch.isCurrent;
    let query: string | undefined = watch.query(waits ? { _live: 'poll', _wait: String(seconds) } : {});
    let etag: string | undefined;
    while (query !== undefined) {
      const request = { method: 'GET', path: `${watch.path}?${query}`, signal };
      const reply = await this.#transport.request(request);
      const page = await readPage<Parameters<Watch['push']>[0][number]>(reply);
      // A list that is older than the cursor was restored from a backup.
      const isOlder = Number(page.etag) < Number(watch.cursor);
      if (page.resync !== undefined || isOlder) return watch.restart(isOlder ? 'flushed' : 'horizon');
      // Objects that changed between two pages may be missing. They have changed after the timestamp of the first page.
      const isFirst = etag === undefined;
      etag ??= page.etag;
      query = page.next;
      const isLast = query === undefined;
      watch.push(page.data.toReversed(), isFirst && isLast, isLast ? etag : undefined);
      await this.#waitForRoom(watch, signal);
      if (watch.isStalled) return;
      // Services without live updates, and caches, return at once.
      const isEarly = waits && page.data.length === 0 && performance.now() - beginning < seconds * 500;
      if (isEarly) await rest(1000 + this.#transport.drawPause(2), signal);
    }
  }
}

/** Those that are at the same place of the same list share its events. */
function groupsOf(watches: Iterable<Watch>): Map<string, Watch[]> {
  const groups = new Map<string, Watch[]>();
  for (const watch of watches) {
    const address = `${watch.path}?${watch.query()}`;
    const group = groups.get(address) ?? [];
    group.push(watch);
    groups.set(address, group);
  }
  return groups;
}

function queryOf(groups: ReadonlyMap<string, unknown>): string {
  return String(new URLSearchParams(Array.from(groups.keys(), (address): [string, string] => ['watch', address])));
}

/** Waits for a time, until the signal aborts, or until the network is back. */
function rest(milliseconds: number, signal: AbortSignal): Promise<void> {
  return pause(milliseconds, signal, globalThis as unknown as EventTarget).catch(() => {});
}
