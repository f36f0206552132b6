// Live updates of one process: opens streams and long polls, passes on what commits have changed, looks at the clocks of all
// followed lists from time to time, and ends streams that are old or whose caller lost access.
import type { ChangeHint, ChangeHints } from '../contracts/change-hints.ts';
import type { Logger } from '../contracts/logger.ts';
import type { LiveObservation, Observer } from '../contracts/observer.ts';
import { ServiceError } from '../core/errors.ts';
import type { ListParameters } from '../core/query/parameters.ts';
import type { ListAccess } from '../engine/access.ts';
import type { CommitListener } from '../engine/commit-listener.ts';
import type { ServiceResponse } from '../engine/exchange.ts';
import type { Presentation } from '../engine/page-text.ts';
import type { LiveLists, Scope } from '../engine/scope.ts';
import type { Stores } from '../engine/unit-of-work.ts';
import type { FrameSink } from './event-stream.ts';
import { Feed } from './feed.ts';
import { endFrame, Frames } from './frames.ts';
import { ListStream, streamHeaders } from './list-stream.ts';
import { waitForPage } from './long-poll.ts';
import { prepareStream, type Followed } from './prepare-stream.ts';
import { PageTurns } from './page-turns.ts';
import { Places, type PlaceOwner } from './places.ts';
import { Stream, type EndReason } from './stream.ts';
import { Viewer } from './viewer.ts';
import { Watches, type Watch } from './watch.ts';

export interface LiveOptions {
  readonly stores: Stores;
  readonly logger: Logger;
  /** Observes streams; it is known when plugins are set up. */
  readonly observer: () => Observer | undefined;
  /** Tells other processes; absent: there are none. */
  readonly hints: ChangeHints | undefined;
  /** Formats an error as the standard body. */
  readonly formatError: (error: ServiceError) => string;
  readonly maxStreams: number;
  readonly maxStreamsPerUser: number;
  readonly maxStreamsPerAddress: number;
  /** Returns the network that an anonymous caller is counted with; `undefined`: it is not limited. */
  readonly limitedAddress: (address: string | undefined) => string | undefined;
  readonly bufferBytes: number;
  readonly recheckMs: number;
  readonly maxMs: number;
}

/** Interval of looks at the streams: their age, their silence and the access of their callers. */
const lookMs = 500;
/** Interval of looks at the clocks of all followed lists, in case hints were lost. */
const sweepMs = 1000;
/** Silence after which a client is shown that the connection lives. */
const heartbeatMs = 20_000;
/** Part by which the ages at which streams end differ, so that clients do not come back all at once. */
const ageSpread = 0.1;
/** Number of callers that are checked at the same time. */
const checksAtOnce = 20;
/** Time that a long poll waits by default. */
const defaultWaitSeconds = 20;

export class LiveHub implements LiveLists, CommitListener {
  readonly #options: LiveOptions;
  readonly #watches = new Watches();
  readonly #feeds = new Map<string, Feed>();
  readonly #viewers = new Map<string, Viewer>();
  readonly #streamsOf = new Map<Viewer, Set<Stream>>();
  readonly #streams = new Map<Stream, Opened>();
  readonly #places: Places;
  readonly #turns: PageTurns;
  readonly #stopping = new AbortController();
  #privateViewers = 0;
  #polls = 0;
  #timers: NodeJS.Timeout[] = [];
  #unsubscribe: (() => void) | undefined;
  /** Number of flushes at the last look; `undefined`: none yet. */
  #flushes: number | undefined;
  #isSweeping = false;
  /** Whether the last look at the clocks failed, which is logged once. */
  #isSweepFailing = false;
  /** Time of the next round of checks, by the clock of `performance.now()`. */
  #nextChecksAt = 0;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#places = new Places(options);
    this.#turns = new PageTurns(options.maxStreams);
  }

  get isListening(): boolean {
    return this.#watches.size > 0 || this.#options.hints !== undefined;
  }

  committed(hints: readonly ChangeHint[]): void {
    // Units of this process flush seldom, and the next look at the clocks would announce the flush once more.
    if (hints.some((hint) => 'flushed' in hint)) this.#flushes = undefined;
    this.#watches.announce(hints);
    this.#options.hints?.publish(hints);
  }

  async follow(scope: Scope, access: ListAccess, parameters: ListParameters): Promise<ServiceResponse> {
    this.#requirePlace(scope);
    const followed = await prepareStream(scope, access, parameters);
    const body = new ListStream((sink) => {
      this.#open(followed, sink);
    });
    return { status: 200, headers: streamHeaders, body };
  }

  wait(
    scope: Scope,
    { waitSeconds, since = 0 }: ListParameters,
    page: ServiceResponse,
    read: (scope: Scope) => Promise<ServiceResponse>,
  ): ServiceResponse {
    this.#requirePlace(scope);
    this.#start();
    const waitMs = (waitSeconds ?? defaultWaitSeconds) * 1000;
    const storage = this.#options.stores.storage.reader;
    const stopping = this.#stopping.signal;
    const poll = { scope, since, page, read, waitMs, storage, stopping, watches: this.#watches, turns: this.#turns };
    return { ...page, body: waitForPage(poll, () => this.#openPoll(scope)) };
  }

  /** Takes a place for a long poll. Returns a function that gives it back. */
  #openPoll({ list, context }: Scope): () => void {
    const { userId } = context.caller;
    const leavePlace = this.#places.take(this.#placeOf(context));
    const openedAt = performance.now();
    const poll = { kind: 'live', transport: 'poll', userId, list } as const;
    this.#polls += 1;
    this.#observe({ ...poll, event: 'opened', open: this.#polls });
    return () => {
      leavePlace();
      this.#polls -= 1;
      const milliseconds = performance.now() - openedAt;
      const ended = { event: 'ended', reason: 'answered', milliseconds, frames: 0, resyncs: 0 } as const;
      this.#observe({ ...poll, ...ended, open: this.#polls });
    };
  }

  /** Ends all streams and waits. Clients come back to another process, or later. */
  async close(): Promise<void> {
    this.#stopping.abort();
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    const error = this.#options.formatError(new ServiceError('backendUnavailable'));
    for (const stream of this.#streams.keys()) stream.end('stopping', error);
    this.#unsubscribe?.();
    await this.#options.hints?.close();
  }

  /** @throws ServiceError overloaded */
  #requirePlace({ context }: Scope): void {
    // No fault, so it is not logged as one: another process serves the client.
    if (this.#stopping.signal.aborted) {
      throw new ServiceError('overloaded', { message: 'This process stops. The request may be retried.' });
    }
    this.#places.requireFree(this.#placeOf(context));
  }

  #placeOf({ caller, request }: Scope['context']): PlaceOwner {
    const { userId } = caller;
    return { userId, address: userId === undefined ? this.#options.limitedAddress(request.clientAddress) : undefined };
  }

  #open({ scope, access, presentation, cursor, isResumed, hadPart, isPrivate }: Followed, sink: FrameSink): void {
    this.#start();
    let leavePlace: () => void;
    try {
      // The service may have begun to stop since the request was accepted.
      this.#requirePlace(scope);
      leavePlace = this.#places.take(this.#placeOf(scope.context));
    } catch (error) {
      sink.send(new Frames([endFrame(this.#options.formatError(error as ServiceError), true)]));
      sink.end();
      return;
    }
    const { bufferBytes, maxMs } = this.#options;
    const viewer = this.#viewerOf(scope, access, isPrivate);
    const feed = this.#feedOf(scope, viewer, presentation, isPrivate);
    const onEnd = (ended: Stream, reason: EndReason): void => {
      this.#forget(ended, reason);
    };
    const stream = new Stream({ viewer, sink, cursor, maxBufferBytes: bufferBytes, onEnd });
    // Objects that are no longer shared have no tombstones. While no stream was open, the loss was not noticed.
    if (hadPart || (isResumed && viewer.ids !== undefined)) stream.resync = 'access';
    const openedAt = performance.now();
    const endsAt = openedAt + maxMs * (1 + ageSpread * (2 * Math.random() - 1));
    this.#streamsOf.get(viewer)!.add(stream);
    const opened: Opened = { endsAt, openedAt, leavePlace, feed };
    this.#streams.set(stream, opened);
    sink.onDrain(() => {
      if (!stream.isBehind) return;
      stream.isBehind = false;
      opened.feed.run();
    });
    sink.onClose(() => {
      stream.end('client');
    });
    const { userId } = viewer;
    const { list } = scope;
    this.#observe({ kind: 'live', event: 'opened', transport: 'sse', open: this.#streams.size, userId, list });
    // A client that is already gone has left the feed before it joined.
    if (!stream.isEnded) feed.add(stream);
  }

  #forget(stream: Stream, reason: EndReason): void {
    const entry = this.#streams.get(stream);
    if (entry === undefined) return;
    const { viewer, frames, resyncs } = stream;
    const { feed, leavePlace } = entry;
    this.#streams.delete(stream);
    leavePlace();
    const others = this.#streamsOf.get(viewer)!;
    others.delete(stream);
    if (others.size === 0) {
      this.#viewers.delete(viewer.key);
      this.#streamsOf.delete(viewer);
    }
    this.#leaveFeed(stream, feed);
    const milliseconds = performance.now() - entry.openedAt;
    const { list } = feed.source.watch;
    const ended = { event: 'ended', reason, milliseconds, frames, resyncs } as const;
    const open = this.#streams.size;
    this.#observe({ kind: 'live', transport: 'sse', open, userId: viewer.userId, list, ...ended });
  }

  #leaveFeed(stream: Stream, feed: Feed): void {
    feed.streams.delete(stream);
    if (feed.streams.size > 0) return;
    this.#feeds.delete(feed.key);
    this.#watches.leave(feed.source.watch, feed);
  }

  /** Returns the viewer for the caller and list, which streams with the same credentials share. */
  #viewerOf(scope: Scope, access: ListAccess, isPrivate: boolean): Viewer {
    const { context, list } = scope;
    const { userId, knownPrincipals } = context.caller;
    const credentials = context.request.headers['authorization'];
    // Without the header the caller is known by something else, which may differ from request to request.
    const mark = userId === undefined ? '' : (credentials ?? String((this.#privateViewers += 1)));
    const ids = access.ids === undefined ? '' : access.ids.join('\n');
    const key = JSON.stringify([list.kind, list.parent, userId ?? null, knownPrincipals, mark, isPrivate, ids]);
    let viewer = this.#viewers.get(key);
    if (viewer === undefined) {
      viewer = new Viewer(key, scope, access, {
        refused: (each, error) => {
          const body = this.#options.formatError(error);
          for (const stream of this.#streamsOf.get(each) ?? []) stream.end('refused', body);
        },
        accessChanged: (each) => {
          this.#moveStreams(each);
        },
      });
      this.#viewers.set(key, viewer);
      this.#streamsOf.set(viewer, new Set());
    }
    return viewer;
  }

  #feedOf(scope: Scope, viewer: Viewer, presentation: Presentation, isPrivate: boolean): Feed {
    const { stores, logger, bufferBytes } = this.#options;
    const isShared = viewer.ids === undefined && !isPrivate;
    const { kind, parent } = scope.list;
    const key = JSON.stringify([kind, parent, presentation, isShared ? null : viewer.key]);
    let feed = this.#feeds.get(key);
    if (feed === undefined) {
      const watch = this.#watches.of(scope.list);
      feed = new Feed(key, {
        watch,
        storage: stores.storage.reader,
        turns: this.#turns,
        scope,
        presentation,
        viewer: isShared ? undefined : viewer,
        isPrivate,
        maxFrameBytes: Math.max(1, bufferBytes >> 1),
        onSent: (sent) => {
          this.#observe({ kind: 'live', event: 'sent', ...sent });
        },
        onError: (error) => {
          logger.warn({ err: error }, 'A followed list could not be read; it is read again');
        },
      });
      watch.followers.add(feed);
      this.#feeds.set(key, feed);
    }
    return feed;
  }

  /** Serves the streams of a caller by other feeds, after the client has fetched the list again. */
  #moveStreams(viewer: Viewer): void {
    for (const stream of this.#streamsOf.get(viewer) ?? []) {
      const opened = this.#streams.get(stream)!;
      const { scope, presentation, isPrivate } = opened.feed.source;
      stream.resync ??= 'access';
      const feed = this.#feedOf(scope, viewer, presentation, isPrivate);
      if (feed === opened.feed) feed.run();
      else {
        this.#leaveFeed(stream, opened.feed);
        opened.feed = feed;
        feed.add(stream);
      }
    }
  }

  #start(): void {
    if (this.#timers.length > 0 || this.#stopping.signal.aborted) return;
    const { hints } = this.#options;
    this.#timers = [setInterval(() => this.#look(), lookMs), setInterval(() => void this.#sweep(), sweepMs)];
    this.#unsubscribe ??= hints?.subscribe((received) => {
      if (this.#watches.announce(received)) void this.#sweep();
    });
  }

  /** Ends old streams, shows that silent connections live, and checks access again. */
  #look(): void {
    const now = performance.now();
    for (const [stream, { endsAt, feed }] of this.#streams) {
      if (now >= endsAt) stream.end('age');
      else if (stream.sink.bufferedBytes > 0) continue;
      else if (stream.isBehind) {
        // There was no memory for what the client was to receive.
        stream.isBehind = false;
        feed.run();
      } else if (now - stream.lastSentAt >= heartbeatMs) stream.beat();
    }
    if (now >= this.#nextChecksAt) void this.#checkAll(now);
  }

  async #checkAll(now: number): Promise<void> {
    this.#nextChecksAt = Infinity;
    try {
      // A round begins every `lookMs`, so this finds each viewer in time.
      const latest = now - this.#options.recheckMs + lookMs;
      const due = [...this.#viewers.values()].filter(({ checkedAt }) => checkedAt <= latest);
      for (let at = 0; at < due.length; at += checksAtOnce) {
        await Promise.all(due.slice(at, at + checksAtOnce).map((viewer) => viewer.check().catch(ignore)));
      }
    } finally {
      // With very many callers, checks take at most half of the time.
      const end = performance.now();
      this.#nextChecksAt = end + (end - now);
    }
  }

  /** Looks at the clocks of all followed lists, and serves those that have moved without a hint. */
  async #sweep(): Promise<void> {
    if (this.#isSweeping || this.#watches.size === 0) return;
    this.#isSweeping = true;
    try {
      const watches = [...this.#watches.all];
      const { clocks, flushes } = await this.#options.stores.storage.reader.clocks(watches.map(({ list }) => list));
      const isFlushed = this.#flushes !== undefined && this.#flushes !== flushes;
      this.#flushes = flushes;
      if (isFlushed) this.#watches.flushed();
      for (const [index, watch] of watches.entries()) this.#see(watch, clocks[index]);
      this.#isSweepFailing = false;
    } catch (error) {
      const { logger } = this.#options;
      if (!this.#isSweepFailing) logger.warn({ err: error }, 'The clocks of followed lists could not be read');
      this.#isSweepFailing = true;
    } finally {
      this.#isSweeping = false;
    }
  }

  #see(watch: Watch, clock: number | undefined): void {
    const isMoved = watch.clock !== clock;
    watch.clock = clock;
    for (const follower of watch.followers) {
      if (isMoved) follower.changed();
      // Serves again what failed before.
      else if (follower instanceof Feed) follower.run();
    }
  }

  #observe(observation: LiveObservation): void {
    this.#options.observer()?.observe(observation);
  }
}

/** What is known of an open stream. */
interface Opened {
  /** By the clock of `performance.now()`. */
  readonly openedAt: number;
  readonly endsAt: number;
  readonly leavePlace: () => void;
  /** Serves the stream; another one when the access of the caller changes. */
  feed: Feed;
}

function ignore(): void {
  // A backend that does not answer is asked again.
}
