// Follows a list by a live stream while a view is shown. Lists of services without live updates are polled.
import { elementsOf, memberText } from '../json-text.js';
import { poll } from './poller.js';

/** Pause after a change before the next one is shown, so that a busy list does not flicker. */
const restMilliseconds = 500;
/** Pause before a lost connection is opened again. */
const retryMilliseconds = 3000;

/**
 * @typedef {object} FollowedList
 * @property {string} path
 * @property {URLSearchParams} filters
 * @property {() => string} etag of the list as shown
 * @property {() => Promise<void>} refresh shows the list as it is now
 */

/**
 * Refreshes a list after changes by others.
 *
 * @param {import('../context.js').Context} context
 * @param {FollowedList} list
 */
export function follow(context, list) {
  if (context.service.capabilities.has('live')) void stream(context, list);
  else pollList(context, list);
}

/** @param {import('../context.js').Context} context @param {FollowedList} list */
function pollList(context, { path, etag, refresh }) {
  poll(context, async () => {
    // One entry, possibly a tombstone, is enough to detect a change.
    const since = new URLSearchParams({ _since: etag(), _limit: '1' });
    const { text, headers } = await context.api.request('GET', path, { query: since, allowed: [410] });
    // Tombstones may have been purged before this view read them.
    const isChanged = headers.has('Resync') || elementsOf(memberText(text, 'data') ?? '[]').length > 0;
    if (!context.signal.aborted && isChanged) await refresh();
  });
}

/** @param {import('../context.js').Context} context @param {FollowedList} list */
async function stream(context, list) {
  const { api, signal, say } = context;
  const isLeft = () => signal.aborted;
  let isFailing = false;
  while (!isLeft()) {
    try {
      const query = new URLSearchParams(list.filters);
      for (const name of ['_sort', '_since', '_before', '_to', '_fields']) query.delete(name);
      query.set('_live', 'sse');
      query.set('_since', list.etag());
      const body = await api.open(list.path, query, signal);
      // The service refuses the stream: a poll says why, and goes on when it may.
      if (body === undefined) {
        pollList(context, list);
        return;
      }
      if (isFailing) say('Live updates have resumed.');
      isFailing = false;
      const isChanged = await readUntilChange(body);
      await visible(signal);
      if (isLeft()) return;
      if (isChanged) await list.refresh();
      await pause(isChanged ? restMilliseconds : retryMilliseconds, signal);
    } catch {
      if (!isFailing && !isLeft()) say('Changes by other users are not shown: the service does not respond.');
      isFailing = true;
      await pause(retryMilliseconds, signal);
    }
  }
}

/**
 * Reads a stream until it reports a change. The next stream begins at the list as shown afterwards.
 *
 * @param {ReadableStream<Uint8Array>} body
 * @returns {Promise<boolean>} whether there was a change before the stream ended
 */
async function readUntilChange(body) {
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

/** Waits until the tab is visible. @param {AbortSignal} signal @returns {Promise<void>} */
function visible(signal) {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
    look();
  });
}

/** @param {number} milliseconds @param {AbortSignal} signal @returns {Promise<void>} */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
