// One followed list of one client: how far the client is, and what it waits for.
import type { FrameSink } from './event-stream.ts';
import { endFrame, Frames, type ResyncReason } from './frames.ts';
import type { Viewer } from './viewer.ts';

/** Why a stream ended. */
export type EndReason = 'client' | 'age' | 'refused' | 'stopping';

/** Bytes that a stream may have unsent without a reservation of memory. */
const freeBytes = 4096;

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

  /** Whether nothing more can be sent until the client has read, or until others have given memory back. */
  isBehind = false;
  /** Length of the frames that were not accepted last; 0 if they were. */
  refusedBytes = 0;

  /**
   * Sends the frames, unless the client has yet to read too much, or there is no memory for them. With memory, one set of
   * frames is accepted however large it is.
   *
   * @returns whether they were accepted
   */
  send(frames: Frames): boolean {
    const buffered = this.sink.bufferedBytes;
    const { length } = frames.bytes;
    const bytes = buffered + length;
    const hasRoom = buffered === 0 || bytes <= this.maxBufferBytes;
    if (!hasRoom || (bytes > freeBytes && !this.sink.hold(frames))) {
      this.isBehind = true;
      this.refusedBytes = length;
      return false;
    }
    this.refusedBytes = 0;
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
