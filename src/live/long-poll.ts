// Long polling: an ordinary page that is sent once it has entries, or when the time is over.
import type { StorageReader } from '../contracts/storage.ts';
import { formatEtag } from '../core/objects/etag.ts';
import { LaterBody, type ResponseBody, type ServiceResponse } from '../engine/exchange.ts';
import { resyncHeader } from '../engine/missed-deletions.ts';
import { emptyPageBody } from '../engine/page-text.ts';
import { openScope, type Scope } from '../engine/scope.ts';
import type { PageTurns } from './page-turns.ts';
import type { Follower, Watches } from './watch.ts';

/** Memory per character of a page while it is sent: its text, and its bytes. */
const bytesPerChar = 2;

export interface LongPoll {
  readonly scope: Scope;
  readonly since: number;
  /** Read just now, without entries. */
  readonly page: ServiceResponse;
  /** Reads the page again. */
  readonly read: (scope: Scope) => Promise<ServiceResponse>;
  readonly waitMs: number;
  readonly watches: Watches;
  readonly turns: PageTurns;
  readonly storage: StorageReader;
  /** Aborted when the process stops. */
  readonly stopping: AbortSignal;
}

/** Returns the response, when it is time. */
export function waitForPage(poll: LongPoll, takePlace: () => () => void): LaterBody {
  return new LaterBody(async (gone) => {
    const { scope, watches, stopping, waitMs } = poll;
    const leave = takePlace();
    const waiting = new Waiting();
    const end = (): void => {
      waiting.end();
    };
    if (gone.aborted || stopping.aborted) end();
    // Removed afterwards, which signals made with `AbortSignal.any` and `AbortSignal.timeout` are not.
    const timer = setTimeout(end, waitMs);
    gone.addEventListener('abort', end);
    stopping.addEventListener('abort', end);
    const watch = watches.of(scope.list);
    watch.followers.add(waiting);
    try {
      return await answer(poll, waiting, gone);
    } finally {
      watches.leave(watch, waiting);
      gone.removeEventListener('abort', end);
      stopping.removeEventListener('abort', end);
      clearTimeout(timer);
      leave();
    }
  });
}

async function answer(poll: LongPoll, waiting: Waiting, gone: AbortSignal): Promise<ServiceResponse> {
  const { scope, since, storage } = poll;
  let { page } = poll;
  for (;;) {
    let isRestored = false;
    if (!gone.aborted) {
      const clock = (await storage.resourceTimestamp(scope.list)) ?? 0;
      if (page.headers['ETag'] !== formatEtag(clock) || waiting.isOver)
        page = await poll.turns.read(() => readAgain(poll));
      // The list is older than what the client has: the ETag announces it.
      isRestored = clock < since;
    }
    const hasNews = page.body !== emptyPageBody || page.headers[resyncHeader] !== undefined;
    if (hasNews) return page;
    // The next poll has the same address: from a cache, it would return at once.
    if (waiting.isOver || isRestored) return { ...page, headers: { ...page.headers, 'Cache-Control': 'no-store' } };
    await waiting.next();
  }
}

/** Reads the page for the caller as of now. */
async function readAgain({ scope, read }: LongPoll): Promise<ServiceResponse> {
  const { context, end } = await scope.context.renew();
  try {
    const query = context.query.filter(([name]) => name !== '_live' && name !== '_wait');
    const page = await read(await openScope(scope.kind, scope.options, { ...context, query }));
    // Its text and its bytes, before others are read.
    context.request.memory?.reserveNow(bytesPerChar * charsOfBody(page.body));
    return page;
  } finally {
    await end();
  }
}

function charsOfBody(body: ResponseBody): number {
  if (typeof body === 'string') return body.length;
  return Array.isArray(body) ? (body as readonly string[]).reduce((sum, { length }) => sum + length, 0) : 0;
}

/** Waits for changes, until the wait ends. */
class Waiting implements Follower {
  #isOver = false;
  #hasChanged = false;
  #wake: (() => void) | undefined;

  get isOver(): boolean {
    return this.#isOver;
  }

  end(): void {
    this.#isOver = true;
    this.changed();
  }

  changed(): void {
    this.#hasChanged = true;
    this.#wake?.();
  }

  flushed(): void {
    this.changed();
  }

  /** Resolves when something has changed since the last call. */
  async next(): Promise<void> {
    if (!this.#hasChanged) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#wake = undefined;
    this.#hasChanged = false;
  }
}
