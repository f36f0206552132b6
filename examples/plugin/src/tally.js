// An event listener: counts what happens, and tells it when the service stops. Switched on by
//
//   event_listeners = tally
//   event_listeners.tally.use = tally

/** @type {import('coffer').ListenerFactory} */
export function tally({ name, parameter, logger }) {
  const prefix = parameter('prefix') ?? '';
  /** @type {Map<string, number>} */
  const counts = new Map();
  return {
    // After the commit, so that what was undone is not counted.
    isSync: false,
    handle(event) {
      const key = `${prefix}${event.kind}.${event.action}`;
      const objects = event.action === 'read' ? event.entries : event.changes;
      counts.set(key, (counts.get(key) ?? 0) + objects.length);
    },
    stop() {
      logger.info({ listener: name, counts: Object.fromEntries(counts) }, 'What has happened');
    },
  };
}
