// Counts, repeats and deletes deliveries of webhooks from the command line.
import { systemClock } from '../base/clock.ts';
import type { Settings } from '../settings/settings.ts';
import { countDeliveries, emptyDeadLetters, type DeliveryCounts } from '../webhooks/dead-letters.ts';
import { deadKind } from '../webhooks/outbox.ts';
import { withBackends, write } from './units.ts';

/** Counts waiting and abandoned deliveries of each configured listener. */
export function reviewWebhooks(settings: Settings): Promise<ReadonlyMap<string, DeliveryCounts>> {
  return withBackends(settings, async ({ storage }) => {
    const counts = new Map<string, DeliveryCounts>();
    for (const name of webhooksOf(settings)) counts.set(name, await countDeliveries(storage.reader, name));
    return counts;
  });
}

/** Returns the names of the listeners that are webhooks. */
function webhooksOf(settings: Settings): readonly string[] {
  const names = settings.lookupList('event_listeners') ?? [];
  return names.filter((name) => /(?:^|\.)webhook$/.test(settings.lookup(`event_listeners.${name}.use`) ?? ''));
}

/**
 * Puts abandoned deliveries back into the outboxes, or deletes them; returns their number.
 *
 * @throws Error in read-only mode, and for a name that is no webhook and has no abandoned deliveries. A listener that was
 *   removed from the settings keeps its deliveries
 */
export function emptyWebhookDeadLetters(
  settings: Settings,
  { name, retry }: { readonly name: string; readonly retry: boolean },
): Promise<number> {
  if (settings.get('readonly')) return Promise.reject(new Error('readonly is set: deliveries cannot be moved.'));
  return withBackends(settings, async (backends) => {
    const parents = await backends.storage.reader.listParents(deadKind(name));
    const known = webhooksOf(settings);
    if (parents.length === 0 && !known.includes(name)) {
      const hint = known.length === 0 ? 'The settings define no webhooks.' : `Known: ${known.join(', ')}.`;
      throw new Error(`nothing was done: no webhook is called ${JSON.stringify(name)}. ${hint}`);
    }
    let sum = 0;
    for (const parent of parents) {
      for (let count = -1; count !== 0; sum += count) {
        const now = systemClock.now();
        count = await write(backends, ({ storage }) => emptyDeadLetters(storage, { name, parent }, { retry, now }));
      }
    }
    return sum;
  });
}
