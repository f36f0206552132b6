// Looking again every few seconds for as long as a view is shown and its tab is visible.

const pauseMilliseconds = 5000;

/**
 * Calls `look` now and then, one call at a time, and at once when the window gets the focus.
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
      if (isFailing) say('Live again.');
      isFailing = false;
    } catch {
      // Told once; the next turn tries again, and whatever somebody does meanwhile has its own message.
      if (!isFailing && !signal.aborted) say('Changes of others are not shown now: the service does not answer.');
      isFailing = true;
    } finally {
      isLooking = false;
    }
  };
  const timer = setInterval(() => void turn(), pauseMilliseconds);
  window.addEventListener('focus', () => void turn(), { signal });
  signal.addEventListener('abort', () => clearInterval(timer));
}
