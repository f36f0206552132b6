// Polls every few seconds while a view is shown and its tab is visible.

const pauseMilliseconds = 5000;

/**
 * Calls `look` periodically, one call at a time, and at once when the window gets the focus.
 *
 * @param {import('../context.js').Context} context
 * @param {() => Promise<void>} look
 */
export function poll({ api, signal, say }, look) {
  if (signal.aborted) return;
  let isLooking = false;
  let isFailing = false;
  const turn = async () => {
    if (isLooking || document.hidden || Date.now() < api.quietUntil) return;
    isLooking = true;
    try {
      await look();
      if (isFailing) say('Live updates have resumed.');
      isFailing = false;
    } catch {
      // Reported once. The next turn tries again, and actions of the user report their own failures.
      if (!isFailing && !signal.aborted) say('Changes by other users are not shown: the service does not respond.');
      isFailing = true;
    } finally {
      isLooking = false;
    }
  };
  const timer = setInterval(() => void turn(), pauseMilliseconds);
  window.addEventListener('focus', () => void turn(), { signal });
  signal.addEventListener('abort', () => clearInterval(timer));
}
