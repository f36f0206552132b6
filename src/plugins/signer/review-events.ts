// Named events about reviews, for other plugins such as `emailer`.
import { getKey, type JsonObject } from '../../base/json.ts';
import { formatPayload } from '../../core/events/payload.ts';
import type { ChangeEvent } from '../../engine/events/event.ts';
import type { Change } from '../../engine/events/event.ts';
import { editorComment, reviewerComment } from './comments.ts';
import { countBytes, countDifferences, type Difference } from './records.ts';
import type { Work } from './service.ts';

export type ReviewEvent = 'ReviewRequested' | 'ReviewRejected' | 'ReviewApproved' | 'ReviewCanceled';

/** The attribute with the comment of each event. */
const comments: Readonly<Record<ReviewEvent, string>> = {
  ReviewRequested: editorComment,
  ReviewRejected: reviewerComment,
  ReviewApproved: reviewerComment,
  ReviewCanceled: editorComment,
};

export interface Review {
  readonly name: ReviewEvent;
  /** The event that contains the change of status. */
  readonly event: ChangeEvent;
  readonly change: Change;
  /** Attributes of the source after the write of the client, and with the comments that the step empties. */
  readonly attributes: JsonObject;
  /** Difference between source and destination before the step. */
  readonly difference: Difference;
}

/** Adds the event to the unit of work. */
export function announceReview({ actor }: Work, { name, event, change, attributes, difference }: Review): void {
  const comment = getKey(attributes, comments[name]);
  actor.unit.events.addNamed({
    name,
    payload: {
      ...formatPayload({ ...event, path: change.uri, ids: change.ids, userId: change.caller.userId }),
      event: name,
      comment: typeof comment === 'string' ? comment : '',
      changes_count: countDifferences(difference),
      changes_size_bytes: countBytes(difference),
    },
    changes: [change],
    request: event.request,
  });
}
