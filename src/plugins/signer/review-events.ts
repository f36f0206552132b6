// The events by which the plugin tells others of reviews, such as those who send mails.
import { getKey, type JsonObject } from '../../base/json.ts';
import { formatPayload } from '../../core/events/payload.ts';
import type { Change, ChangeEvent } from '../../engine/events/event.ts';
import { countBytes, countChanges, type Difference } from './records.ts';
import type { Work } from './service.ts';

export type ReviewEvent = 'ReviewRequested' | 'ReviewRejected' | 'ReviewApproved' | 'ReviewCanceled';

/** Whose comment goes with the event. */
const comments: Readonly<Record<ReviewEvent, string>> = {
  ReviewRequested: 'last_editor_comment',
  ReviewRejected: 'last_reviewer_comment',
  ReviewApproved: 'last_reviewer_comment',
  ReviewCanceled: 'last_editor_comment',
};

export interface Review {
  readonly name: ReviewEvent;
  /** The event that the change of status was part of. */
  readonly event: ChangeEvent;
  readonly change: Change;
  /** Attributes of the source, as the client has left them. */
  readonly attributes: JsonObject;
  /** Between source and destination, before anything was done. */
  readonly difference: Difference;
}

/** Tells of a review. */
export function announceReview({ actor }: Work, { name, event, change, attributes, difference }: Review): void {
  const comment = getKey(attributes, comments[name]);
  actor.unit.events.addNamed({
    name,
    payload: {
      ...formatPayload({ ...event, path: change.uri, ids: change.ids, userId: change.caller.userId }),
      event: name,
      comment: typeof comment === 'string' ? comment : '',
      changes_count: countChanges(difference),
      changes_size_bytes: countBytes(difference),
    },
    changes: [change],
    request: event.request,
  });
}
