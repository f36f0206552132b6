// The event listener that tells a receiver over HTTP. What happened is written into an outbox in the unit of work
// itself, so that it is delivered if and only if it was committed, however the process ends. See
// docs/guides/webhooks.md.
import { runFromNow } from '../base/steps.ts';
import type { Listener, ListenerContext } from '../engine/events/listener.ts';
import { isAllowedAddress, bareHost, isLocalName } from './addresses.ts';
import { formatBodies } from './bodies.ts';
import { OutboxWorker } from './outbox-worker.ts';
import { readOptions } from './options.ts';
import { appendDeliveries, outboxParent, pendingKind } from './outbox.ts';
import { Sender } from './sender.ts';
import { OutboxScheduler } from './outbox-scheduler.ts';

/** How long a stop waits for deliveries under way. */
const stopMs = 3000;

/**
 * Delivers events to the URL of the listener's settings, at least once each, signed, and repeated until the receiver
 * has taken them.
 *
 * @throws Error naming everything that is wrong with the settings
 */
export function webhookListener(context: ListenerContext): Listener {
  const { name, parameter, stores, clock, logger, isReadonly } = context;
  const options = readOptions(parameter);
  const { url, allowPrivate } = options;
  const host = bareHost(url.hostname);
  if (isLocalName(url.hostname) && host !== 'localhost' && !host.endsWith('.localhost')) {
    if (!isAllowedAddress(host, { allowPrivate }))
      throw new Error(`url: ${host} is no address that deliveries may go to`);
  }
  if ((parameter('sync') ?? '') !== '') {
    throw new Error('sync: has no meaning here: events are written down inside the transaction and sent after it');
  }
  if (isReadonly) {
    logger.warn(
      { listener: name },
      'A read-only service delivers no webhooks, as it cannot write down what it has delivered',
    );
    return { handle() {} };
  }
  const sender = new Sender(options, clock);
  const worker = new OutboxWorker({ name, options, stores, sender, clock, logger });
  const scheduler = new OutboxScheduler({
    name,
    concurrency: options.concurrency,
    pollMs: options.pollMs,
    stopMs,
    clock,
    logger,
    findOutboxes: () => worker.findOutboxes(),
    process: (outbox, stop) => worker.process(outbox, stop),
  });
  return {
    isSync: true,
    async handle(event, scope) {
      if (scope === undefined) throw new Error('a webhook has to be told inside the transaction');
      const { unit } = scope;
      const parent = outboxParent(event.list);
      const { storage } = await unit.writer();
      const { hiddenFields = [] } = context.objects.kind(event.kind).declaration;
      const formatting = runFromNow(formatBodies(event, { maxBytes: options.maxBodyBytes, hiddenFields }), 'urgent');
      const bodies = formatting instanceof Promise ? await formatting : formatting;
      await appendDeliveries(storage, { kind: pendingKind(name), parent }, { bodies, now: clock.now() });
      unit.afterCommit(() => scheduler.wake(parent));
    },
    start: () => scheduler.start(),
    async stop() {
      await scheduler.stop();
      sender.close();
    },
  };
}
