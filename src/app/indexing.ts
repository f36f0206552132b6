// Makes what completes declared indexes in the background.
import type { Logger } from '../contracts/logger.ts';
import type { CompiledKind } from '../engine/compiled-kind.ts';
import type { Subscriber } from '../engine/events/subscriber.ts';
import { IndexBuilder } from '../engine/index-builder.ts';
import type { Settings } from '../settings/settings.ts';
import type { Stores } from '../engine/unit-of-work.ts';
import { partyOf } from '../http/address-group.ts';
import { changesIndexes, recordsOf } from '../resources/collection-indexes.ts';

/** Creates the builder of indexes; `undefined` for a service that may not write. */
export function createIndexing(
  settings: Settings,
  stores: Stores,
  kinds: ReadonlyMap<string, CompiledKind>,
  logger: Logger,
): IndexBuilder | undefined {
  return settings.get('readonly') ? undefined : new IndexBuilder({ stores, kinds, logger });
}

/** Returns the subscriber that wakes the builder for collections with other indexes. */
export function indexingSubscriber(builder: IndexBuilder): Subscriber {
  return {
    name: 'indexes',
    on: 'AfterResourceChanged',
    kinds: ['collection'],
    actions: ['create', 'update'],
    handle({ changes, request }) {
      for (const change of changes) {
        if (!changesIndexes(change)) continue;
        builder.wake(recordsOf(change.uri), partyOf(change.caller.userId, request.clientAddress));
      }
    },
  };
}
