// Frames of a stream of server-sent events, and their text. Frames that many streams send are serialised once.
import type { OpenConnection } from '../engine/exchange.ts';
import { formatCursor, type Cursor } from './cursor.ts';

/** Why a client has to fetch the list again. */
export type ResyncReason = 'horizon' | 'access' | 'flushed';

export interface Frame {
  readonly event: 'changes' | 'current' | 'resync' | 'refused' | 'end';
  /** Where a client that resumes continues; `undefined` on frames that are no place to resume from. */
  readonly id: Cursor | undefined;
  /** JSON text of an object, on one line. */
  readonly data: string;
  /** Milliseconds after which the client shall reconnect; absent: as said before. */
  readonly retryMs?: number | undefined;
}

/** A reservation that several connections share. It outlives the frames, whose texts are not kept while clients read. */
class SharedMemory {
  #holders = 0;
  #release: (() => void) | undefined;
  readonly #letGo = (): void => {
    this.#holders -= 1;
    if (this.#holders === 0) this.#release?.();
  };

  hold(reserve: OpenConnection['reserve'], bytes: number): (() => void) | undefined {
    if (this.#holders === 0) {
      this.#release = reserve(bytes);
      if (this.#release === undefined) return undefined;
    }
    this.#holders += 1;
    return this.#letGo;
  }
}

/** Frames that are sent together. */
export class Frames {
  readonly all: readonly Frame[];
  #bytes: Buffer | undefined;
  readonly #memory = new SharedMemory();

  constructor(all: readonly Frame[]) {
    this.all = all;
  }

  /** The frames as bytes of an event stream. */
  get bytes(): Buffer {
    return (this.#bytes ??= Buffer.from(
      this.all.map((each) => formatFrame(each, each.id && formatCursor(each.id))).join(''),
    ));
  }

  /**
   * Reserves the memory of the bytes for one more connection. It is counted once, for the first connection.
   *
   * @returns a function to call once when the connection has sent the bytes; `undefined` when the memory is refused
   */
  hold(reserve: OpenConnection['reserve']): (() => void) | undefined {
    return this.#memory.hold(reserve, this.bytes.length);
  }
}

/** Formats a frame. JSON contains no line ends, so the data is one line. */
export function formatFrame({ event, data, retryMs }: Omit<Frame, 'id'>, id?: string): string {
  const retry = retryMs === undefined ? '' : `retry: ${retryMs}\n`;
  return `${retry}${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;
}

/** Returns a time after which a client reconnects, between 1 and 5 seconds, so that clients do not come back all at once. */
export function drawRetryMs(): number {
  return 1000 + Math.floor(Math.random() * 4000);
}

/**
 * Creates the frame of changed entries.
 *
 * @param text JSON of the entries, joined by commas
 */
export function changesFrame(id: Cursor | undefined, text: string): Frame {
  return { event: 'changes', id, data: `{"data":[${text}]}` };
}

/** Creates the frame that says that everything up to the timestamp of the cursor was sent. */
export function currentFrame(id: Cursor): Frame {
  return { event: 'current', id, data: '{}' };
}

export function resyncFrame(reason: ResyncReason): Frame {
  return { event: 'resync', id: undefined, data: `{"reason":"${reason}"}` };
}

/**
 * Creates the last frame of a stream.
 *
 * @param error JSON text of a standard error body
 * @param isRetried whether the client shall reconnect
 */
export function endFrame(error: string, isRetried: boolean): Frame {
  const frame = { event: 'end', id: undefined, data: error } as const;
  return isRetried ? { ...frame, retryMs: drawRetryMs() } : frame;
}
