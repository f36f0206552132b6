// Long polling: an ordinary page that is sent once it has entries, or when the time is over.
import type { StorageReader } from '../contracts/storage.ts';
import { formatEtag } from '../core/objects/etag.ts';
import { LaterBody, type ServiceResponse } from '../engine/exchange.ts';
import { resyncHeader } from '../engine/missed-deletions.ts';
import { emptyPageBody } from '../engine/page-text.ts';
import { openScope, type Scope } from '../engine/scope.ts';
import type { Follower, Watches } from './watch.ts';

export interface LongPoll {
  readonly scope: Scope;
  /** Read just now, without entries. */
  readonly page: ServiceResponse;
  /** Reads the page again. */
  readonly read: (scope: Scope) => Promise<ServiceResponse>;
  readonly waitMs: number;
  readonly watches: Watches;
  readonly storage: StorageReader;
  /** Aborted when the process stops. */
  readonly stopping: AbortSignal;
}

/** Returns the response, when it is time. */
export function waitForPage(poll: LongPoll, takePlace: () => () => void): LaterBody {
  return new LaterBody(async (gone) => {
    const { scope, watches, stopping } = poll;
    const waiting = new Waiting(AbortSignal.any([gone, stopping, AbortSignal.timeout(poll.waitMs)]));
    const watch = watches.of(scope.list);
    watch.followers.add(waiting);
    const leave = takePlace();
    try {
      return await answer(poll, waiting, gone);
    } finally {
      leave();
      watches.leave(watch, waiting);
    }
  });
}

async function answer(poll: LongPoll, waiting: Waiting, gone: AbortSignal): Promise<ServiceResponse> {
  const { scope, storage } = poll;
  let { page } = poll;
  for (;;) {
    const clock = (await storage.resourceTimestamp(scope.list)) ?? 0;
    if (page.headers['ETag'] !== formatEtag(clock) || waiting.isOver) page = await readAgain(poll);
    const hasNews = page.body !== emptyPageBody || page.headers[resyncHeader] !== undefined;
    if (hasNews || waiting.isOver || gone.aborted) return page;
    await waiting.next();
  }
}

/** Reads the page for the caller as of now. */
async function readAgain({ scope, read }: LongPoll): Promise<ServiceResponse> {
  const { context, end } = await scope.context.renew();
  try {
    const query = context.query.filter(([name]) => name !== '_live' && name !== '_wait');
    return await read(await openScope(scope.kind, scope.options, { ...context, query }));
  } finally {
    await end();
  }
}

/** Waits for changes, until a signal ends the wait. */
class Waiting implements Follower {
  readonly #signal: AbortSignal;
  #hasChanged = false;
  #wake: (() => void) | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => {
      this.changed();
    });
  }

  get isOver(): boolean {
    return this.#signal.aborted;
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
    if (!this.#hasChanged && !this.isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#wake = undefined;
    this.#hasChanged = false;
  }
}
