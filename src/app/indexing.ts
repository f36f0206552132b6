// Wakes what completes declared indexes in the background.
import type { Subscriber } from '../engine/events/subscriber.ts';
import type { IndexBuilder } from '../engine/index-builder.ts';
import { partyOf } from '../http/address-group.ts';
import { changesIndexes, recordsOf } from '../resources/collection-indexes.ts';

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
