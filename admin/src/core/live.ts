// Follows a list by a live stream while a view is shown. Lists of services without live updates are polled.
import type { Api } from './api.ts';
import { elementsOf, memberText } from './json-text.ts';
import type { Service } from './service.ts';

/** Pause after a change before the next one is shown, so that a busy list does not flicker. */
const restMilliseconds = 500;
/** Pause before a lost connection is opened again. */
const retryMilliseconds = 3000;
/** Pause between two polls. */
const pollMilliseconds = 5000;

/** What follows a list: where, who reports, and until when. */
export interface Follower {
  readonly api: Api;
  readonly service: Service;
  /** Ends the following. */
  readonly signal: AbortSignal;
  /** Shows a message. */
  readonly say: (text: string) => void;
}

export interface FollowedList {
  readonly path: string;
  readonly filters: URLSearchParams;
  /** ETag of the list as shown. */
  readonly etag: () => string;
  /** Shows the list as it is now. */
  readonly refresh: () => Promise<void>;
}

const lost = 'Changes by other users are not shown: the service does not respond.';
const resumed = 'Live updates have resumed.';

/** Refreshes a list after changes by others. */
export function follow(follower: Follower, list: FollowedList): void {
  if (follower.service.capabilities.has('live')) void stream(follower, list);
  else pollList(follower, list);
}

/**
 * Calls `look` every few seconds while the tab is visible, one call at a time, and at once when the tab is shown or the
 * window gets the focus.
 */
export function poll(
  { api, signal, say }: Omit<Follower, 'service'>,
  look: () => Promise<void>,
  milliseconds: number = pollMilliseconds,
): void {
  if (signal.aborted) return;
  let isLooking = false;
  let isFailing = false;
  const turn = async (): Promise<void> => {
    if (isLooking || document.hidden || Date.now() < api.quietUntil) return;
    isLooking = true;
    try {
      await look();
      if (isFailing) say(resumed);
      isFailing = false;
    } catch {
      // Reported once. The next turn tries again, and actions of the user report their own failures.
      if (!isFailing && !signal.aborted) say(lost);
      isFailing = true;
    } finally {
      isLooking = false;
    }
  };
  const timer = setInterval(() => void turn(), milliseconds);
  window.addEventListener('focus', () => void turn(), { signal });
  document.addEventListener('visibilitychange', () => void turn(), { signal });
  signal.addEventListener('abort', () => clearInterval(timer));
}

function pollList(follower: Follower, { path, etag, refresh }: FollowedList): void {
  poll(follower, async () => {
    // One entry, possibly a tombstone, is enough to detect a change.
    const query = new URLSearchParams({ _since: etag(), _limit: '1' });
    const { text, headers } = await follower.api.request('GET', path, { query, allowed: [410] });
    // Tombstones may have been purged before this view read them.
    const isChanged = headers.has('Resync') || elementsOf(memberText(text, 'data') ?? '[]').length > 0;
    if (!follower.signal.aborted && isChanged) await refresh();
  });
}

async function stream(follower: Follower, list: FollowedList): Promise<void> {
  const { api, signal, say } = follower;
  const isLeft = (): boolean => signal.aborted;
  let isFailing = false;
  while (!isLeft()) {
    try {
      const query = new URLSearchParams(list.filters);
      for (const name of ['_sort', '_since', '_before', '_to', '_fields', '_limit', '_token']) query.delete(name);
      query.set('_live', 'sse');
      query.set('_since', list.etag());
      const body = await api.open(list.path, query, signal);
      // The service refuses the stream: a poll reports why, and continues when it is allowed.
      if (body === undefined) {
        pollList(follower, list);
        return;
      }
      if (isFailing) say(resumed);
      isFailing = false;
      const isChanged = await readUntilChange(body);
      await visible(signal);
      if (isLeft()) return;
      if (isChanged) await list.refresh();
      await pause(isChanged ? restMilliseconds : retryMilliseconds, signal);
    } catch {
      if (!isFailing && !isLeft()) say(lost);
      isFailing = true;
      await pause(retryMilliseconds, signal);
    }
  }
}

/**
 * Reads a stream until it reports a change, and returns whether there was one before the stream ended. The next stream
 * begins at the list as shown afterwards.
 */
async function readUntilChange(body: ReadableStream<Uint8Array>): Promise<boolean> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return false;
    text = text.slice(-100) + decoder.decode(value, { stream: true });
    if (!/^event: (?:changes|resync|end)$/m.test(text)) continue;
    await reader.cancel();
    return true;
  }
}

/** Waits until the tab is visible. */
function visible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
    look();
  });
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
