// One followed list of one client: how far the client is, and what it waits for.
import type { FrameSink } from './event-stream.ts';
import { endFrame, Frames, type ResyncReason } from './frames.ts';
import type { Viewer } from './viewer.ts';

/** Why a stream ended. */
export type EndReason = 'client' | 'age' | 'refused' | 'stopping';

export class Stream {
  readonly viewer: Viewer;
  readonly sink: FrameSink;
  readonly maxBufferBytes: number;
  /** Timestamp up to which the client has everything. */
  cursor: number;
  /**
   * Timestamp up to which missing deletions do not matter, because the client began with an empty list. Only of use until the
   * cursor has passed it.
   */
  knownFrom = 0;
  /** Timestamp of the last frame `current`. */
  currentAt = -1;
  /** Version of the feed up to which this stream was served. */
  seen = -1;
  /** Set when the client has to fetch the list again. */
  resync: ResyncReason | undefined;
  /** Number of frames sent, for logs. */
  frames = 0;
  resyncs = 0;
  /** Milliseconds by the clock of `performance.now()`. */
  lastSentAt = performance.now();
  readonly #onEnd: (stream: Stream, reason: EndReason) => void;
  #isEnded = false;

  constructor(options: {
    readonly viewer: Viewer;
    readonly sink: FrameSink;
    readonly cursor: number;
    readonly maxBufferBytes: number;
    readonly onEnd: (stream: Stream, reason: EndReason) => void;
  }) {
    this.viewer = options.viewer;
    this.sink = options.sink;
    this.cursor = options.cursor;
    this.maxBufferBytes = options.maxBufferBytes;
    this.#onEnd = options.onEnd;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether nothing more can be sent until the client has read. */
  isBehind = false;

  /**
   * Sends the frames, unless the client has yet to read too much. One set of frames is always accepted, however large.
   *
   * @returns whether they were accepted
   */
  send(frames: Frames): boolean {
    const buffered = this.sink.bufferedBytes;
    if (buffered > 0 && buffered + frames.bytes.length > this.maxBufferBytes) {
      this.isBehind = true;
      return false;
    }
    this.sink.send(frames);
    this.frames += frames.all.length;
    this.lastSentAt = performance.now();
    return true;
  }

  beat(): void {
    this.sink.beat();
    this.lastSentAt = performance.now();
  }

  /**
   * Ends the stream.
   *
   * @param error JSON text of the error body that the client gets first; absent: none
   */
  end(reason: EndReason, error?: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    // What a client leaves unread is not waited for.
    if (this.sink.bufferedBytes > this.maxBufferBytes) this.sink.destroy();
    else {
      if (error !== undefined) this.sink.send(new Frames([endFrame(error, reason === 'stopping')]));
      this.sink.end();
    }
    this.#onEnd(this, reason);
  }
}
