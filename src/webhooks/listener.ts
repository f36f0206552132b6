// The event listener for webhooks. Events are written into a transactional outbox in the unit of work, so they are
// delivered if and only if it is committed, even if the process dies. See docs/guides/webhooks.md.
import { runFromNow } from '../base/steps.ts';
import type { ListParent } from '../core/objects/uris.ts';
import type { Listener, ListenerContext } from '../engine/events/listener.ts';
import { isAllowedAddress, bareHost, isLocalName } from './addresses.ts';
import { formatBodies } from './bodies.ts';
import { OutboxWorker } from './outbox-worker.ts';
import { readOptions } from './options.ts';
import { appendDeliveries, outboxParent, pendingKind } from './outbox.ts';
import { Sender } from './sender.ts';
import { OutboxScheduler } from './outbox-scheduler.ts';

/** A configured webhook, for operators. */
export interface Webhook {
  readonly name: string;
  /** Without credentials, query and fragment. */
  readonly url: string;
  /** Schedules the deliveries of an outbox. */
  wake(parent: ListParent): void;
}

interface WebhookListener extends Listener {
  readonly webhook: Webhook;
}

/** Returns whether a listener delivers webhooks. */
export function isWebhook(listener: Listener): listener is WebhookListener {
  return 'webhook' in listener;
}

/** Maximum time that a stop waits for running deliveries. */
const stopMs = 3000;

/**
 * Creates a listener that delivers signed events to a URL, at least once each, with retries until the receiver accepts
 * them.
 *
 * @throws Error with all problems of the settings
 */
export function webhookListener(context: ListenerContext): WebhookListener {
  const { name, parameter, stores, clock, logger, isReadonly } = context;
  const options = readOptions(parameter);
  const { url, allowPrivate } = options;
  const host = bareHost(url.hostname);
  if (isLocalName(url.hostname) && host !== 'localhost' && !host.endsWith('.localhost')) {
    if (!isAllowedAddress(host, { allowPrivate }))
      throw new Error(`url: ${host} is not an address that deliveries may connect to`);
  }
  if ((parameter('sync') ?? '') !== '') {
    throw new Error(
      'sync: is not supported for webhooks. Events are stored inside the transaction and delivered after it.',
    );
  }
  if (isReadonly) {
    logger.warn({ listener: name }, 'A read-only service delivers no webhooks because it cannot record deliveries');
    return { webhook: { name, url: plainUrl(url), wake() {} }, handle() {} };
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
    webhook: { name, url: plainUrl(url), wake: (parent) => scheduler.wake(parent) },
    isSync: true,
    async handle(event, scope) {
      if (scope === undefined) throw new Error('A webhook must be called inside the transaction.');
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

function plainUrl({ origin, pathname }: URL): string {
  return origin + pathname;
}
