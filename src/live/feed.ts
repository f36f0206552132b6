// Follows one list for all streams that see the same of it: one read and one text serve those that are equally far. Streams
// that are behind are served from their own place until they have caught up.
import { setTimeout as wait } from 'node:timers/promises';
import { pause, runFromNow } from '../base/steps.ts';
import type { LiveObservation } from '../contracts/observer.ts';
import type { Page, StorageReader } from '../contracts/storage.ts';
import type { PageQuery } from '../core/query/ast.ts';
import { lastModifiedField } from '../core/query/fields.ts';
import { announceRead } from '../engine/events/announce.ts';
import { formatPage, type Presentation } from '../engine/page-text.ts';
import type { Scope } from '../engine/scope.ts';
import type { Cursor } from './cursor.ts';
import { changesFrame, currentFrame, Frames, resyncFrame, type Frame } from './frames.ts';
import type { PageTurns } from './page-turns.ts';
import type { Stream } from './stream.ts';
import type { Viewer } from './viewer.ts';
import type { Watch } from './watch.ts';

/** Maximum number of entries in one frame. */
const maxEntries = 1000;
/** Number of streams that are served without a pause. Other requests wait for at most one such group. */
const streamsPerStep = 250;
/**
 * A feed whose list changed while it sent frames rests as long as that took, and at most this number of milliseconds. So a list
 * with many streams that is written all the time takes at most half of the processor, and its changes are sent together.
 */
const maxRestMs = 100;
/** Number of callers whose access is checked at the same time. */
const checksAtOnce = 50;

/** Frames that streams received at the same time. */
export type Sent = Pick<Extract<LiveObservation, { event: 'sent' }>, 'frames' | 'resyncs' | 'lagMs'>;

export interface FeedSource {
  readonly watch: Watch;
  readonly storage: StorageReader;
  readonly turns: PageTurns;
  /** Kind and context that entries are shown with. */
  readonly scope: Scope;
  readonly presentation: Presentation;
  /** The only caller that the feed is for; `undefined`: it serves all callers who may see the whole list. */
  readonly viewer: Viewer | undefined;
  /** Whether what is sent depends on the caller, besides the objects that it may see. */
  readonly isPrivate: boolean;
  /** Maximum length of the entries' texts in one frame, in bytes. */
  readonly maxFrameBytes: number;
  /** Called after frames were sent. */
  readonly onSent: (sent: Sent) => void;
  /** Called with what went wrong in the background. */
  readonly onError: (error: unknown) => void;
}

export class Feed {
  readonly key: string;
  readonly source: FeedSource;
  readonly streams = new Set<Stream>();
  /** Increases with each change that was announced. */
  #version = 0;
  /** Time of the first announced change that was not sent yet, by the clock of `performance.now()`. */
  #changedAt: number | undefined;
  /** Milliseconds to rest before the next frames. */
  #restMs = 0;
  #isRunning = false;
  #servesNewest = true;

  constructor(key: string, source: FeedSource) {
    this.key = key;
    this.source = source;
  }

  /** Serves all streams again, because the list may have changed. */
  changed(): void {
    this.#version += 1;
    this.#changedAt ??= performance.now();
    this.run();
  }

  /** Makes every client fetch the list again, because everything was deleted. */
  flushed(): void {
    for (const stream of this.streams) stream.resync = 'flushed';
    this.changed();
  }

  add(stream: Stream): void {
    stream.seen = -1;
    this.streams.add(stream);
    this.run();
  }

  /** Serves the streams that have something to receive and room for it. */
  run(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#serveAll();
  }

  async #serveAll(): Promise<void> {
    try {
      // Commits of one turn of the event loop are served together.
      await Promise.resolve();
      for (;;) {
        const waiting = this.#findWaiting();
        if (waiting.length === 0) break;
        await this.#serve(waiting);
        if (this.#restMs >= 1) await wait(this.#restMs);
      }
    } catch (error) {
      // The streams stay where they are, and are served again after the next look at the clocks.
      this.source.onError(error);
    } finally {
      this.#isRunning = false;
    }
  }

  #findWaiting(): readonly Stream[] {
    const waiting: Stream[] = [];
    for (const stream of this.streams) {
      if (!stream.isBehind && (stream.seen !== this.#version || stream.resync !== undefined)) waiting.push(stream);
    }
    return waiting;
  }

  /** Serves one group of the streams once. */
  #serve(waiting: readonly Stream[]): Promise<void> {
    const version = this.#version;
    const restarting = waiting.filter(({ resync }) => resync !== undefined);
    return restarting.length > 0 ? this.#restart(restarting, version) : this.#sendChanges(waiting, version);
  }

  /** Tells clients to fetch the list again, and goes on from the clock of before that. */
  async #restart(streams: readonly Stream[], version: number): Promise<void> {
    const { storage, watch } = this.source;
    const clock = (await storage.resourceTimestamp(watch.list)) ?? 0;
    await this.#checkAccess(streams);
    let restarted = 0;
    for (const stream of streams) {
      if (!this.streams.has(stream) || stream.resync === undefined) continue;
      const frames = new Frames([resyncFrame(stream.resync), currentFrame(this.#cursorAt(clock))]);
      if (!stream.send(frames)) continue;
      stream.resyncs += 1;
      stream.resync = undefined;
      stream.cursor = clock;
      stream.currentAt = clock;
      stream.knownFrom = 0;
      stream.seen = version;
      restarted += 1;
    }
    if (restarted > 0) this.source.onSent({ frames: 2 * restarted, resyncs: restarted, lagMs: undefined });
  }

  async #sendChanges(waiting: readonly Stream[], version: number): Promise<void> {
    const [since, until] = this.#chooseRange(waiting);
    const streams = waiting.filter(({ cursor }) => cursor === since);
    const release = reserveAgain(streams);
    if (release === undefined) return;
    try {
      await this.source.turns.take(
        () => this.#read(since, until),
        (page) => this.#sendPage(page, { streams, since, until, version, release }),
      );
    } finally {
      release();
    }
  }

  async #sendPage(page: Page, { streams, since, until, version, release }: Sending): Promise<void> {
    const clock = page.timestamp ?? 0;
    for (const stream of streams) {
      if (since === 0 && stream.knownFrom === 0) stream.knownFrom = clock;
      if (clock < since) stream.resync = 'flushed';
      else if (page.horizon > Math.max(stream.cursor, stream.knownFrom)) stream.resync = 'horizon';
    }
    const isAtEnd = !page.more && until === undefined;
    const last = page.entries.at(-1)?.lastModified;
    const end = page.more ? last! : (until ?? clock);
    const frames: Frame[] = [];
    if (last !== undefined) {
      const formatting = runFromNow(formatPage(this.source.scope, page.entries, this.source.presentation), 'normal');
      // A client that resumed before the horizon would be refused.
      const id = page.horizon > last ? undefined : this.#cursorAt(last);
      frames.push(changesFrame(id, formatting instanceof Promise ? await formatting : formatting));
    }
    if (isAtEnd) frames.push(currentFrame(this.#cursorAt(end)));
    // After the page was read: what was changed after access was lost is never sent.
    await this.#checkAccess(streams);
    const shared = new Frames(frames);
    let served = 0;
    const startedAt = performance.now();
    // The streams reserve what they hold from now on.
    release();
    for (const [index, stream] of streams.entries()) {
      if (index % streamsPerStep === streamsPerStep - 1) await pause('normal');
      if (!this.streams.has(stream) || stream.resync !== undefined || stream.cursor !== since) continue;
      const hasNews = last !== undefined || (isAtEnd && stream.currentAt !== end);
      if (hasNews && !stream.send(shared)) continue;
      if (hasNews) served += 1;
      stream.cursor = end;
      if (!isAtEnd) continue;
      stream.seen = version;
      stream.currentAt = end;
    }
    this.#restMs = version === this.#version ? 0 : Math.min(performance.now() - startedAt, maxRestMs);
    this.#report(version, served * frames.length, isAtEnd && last !== undefined);
  }

  /** @param isFollowed whether the frames have brought streams up to date */
  #report(version: number, frames: number, isFollowed: boolean): void {
    const lagMs = isFollowed && this.#changedAt !== undefined ? performance.now() - this.#changedAt : undefined;
    if (version === this.#version) this.#changedAt = undefined;
    if (frames > 0) this.source.onSent({ frames, resyncs: 0, lagMs });
  }

  /**
   * Chooses the streams to serve, by their cursor: those that are furthest and those that are least far in turn. The latter
   * are served up to the next cursor of others, where the groups become one.
   */
  #chooseRange(waiting: readonly Stream[]): readonly [since: number, until: number | undefined] {
    let lowest = Infinity;
    let highest = 0;
    for (const { cursor } of waiting) {
      if (cursor < lowest) lowest = cursor;
      if (cursor > highest) highest = cursor;
    }
    this.#servesNewest = !this.#servesNewest;
    if (lowest === highest || this.#servesNewest) return [highest, undefined];
    let next = highest;
    for (const { cursor } of waiting) if (cursor > lowest && cursor < next) next = cursor;
    return [lowest, next];
  }

  async #read(since: number, until: number | undefined): Promise<Page> {
    const { storage, watch, viewer, isPrivate, maxFrameBytes } = this.source;
    const after = { field: lastModifiedField, operator: 'gt', value: since } as const;
    const query: PageQuery = {
      filters: until === undefined ? [after] : [after, { field: lastModifiedField, operator: 'max', value: until }],
      ids: viewer?.ids,
      includeDeleted: true,
      sort: [{ field: lastModifiedField, direction: 'ascending' }],
      limit: maxEntries,
      maxBytes: maxFrameBytes,
    };
    const page = await storage.listAll(watch.list, query);
    if (isPrivate && viewer !== undefined && page.entries.length > 0) {
      await viewer.inScope(async (scope) => announceRead(scope, page.entries, page.timestamp));
    }
    return page;
  }

  #cursorAt(timestamp: number): Cursor {
    return { timestamp, isPart: this.source.viewer?.ids !== undefined };
  }

  /** Checks the access of all callers that the streams belong to. Streams that may see nothing any more end. */
  async #checkAccess(streams: readonly Stream[]): Promise<void> {
    const viewers = [...new Set(streams.map(({ viewer }) => viewer))];
    if (viewers.length === 1) return viewers[0]!.check();
    for (let at = 0; at < viewers.length; at += checksAtOnce) {
      await Promise.all(viewers.slice(at, at + checksAtOnce).map((viewer) => viewer.check()));
    }
  }
}

interface Sending {
  readonly streams: readonly Stream[];
  readonly since: number;
  readonly until: number | undefined;
  readonly version: number;
  readonly release: () => void;
}

/**
 * Reserves memory for a page that all of the streams were refused before, so that it is not read in vain. The streams wait if
 * there is none.
 *
 * @returns a function that releases the memory, if any; `undefined` when the streams wait
 */
function reserveAgain(streams: readonly Stream[]): (() => void) | undefined {
  if (streams.some(({ refusedBytes }) => refusedBytes === 0)) return nothing;
  for (const { sink, refusedBytes } of streams) {
    const release = sink.reserve(refusedBytes);
    if (release !== undefined) return release;
  }
  for (const stream of streams) stream.isBehind = true;
  return undefined;
}

function nothing(): void {}
