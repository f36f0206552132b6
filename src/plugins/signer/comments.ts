// Comments on reviews: attributes of the source that clients set, and that the plugin empties when they no longer apply.
import { getKey, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import type { Change, ChangeEvent } from '../../engine/events/event.ts';
import type { Route } from './routes.ts';
import { attributesOf, isSameAttribute } from './service.ts';

export const editorComment = 'last_editor_comment';
export const reviewerComment = 'last_reviewer_comment';

/**
 * Returns the comments that a review request empties: that of an earlier request. Existing clients of collections without
 * a preview rely on its being kept there.
 */
export function commentsToEmpty(route: Route, event: ChangeEvent, change: Change): readonly string[] {
  return route.preview === undefined || sendsComment(event, change) ? [] : [editorComment];
}

/** Returns whether the client has sent a comment, even if it is the present one. */
function sendsComment({ request: { body } }: ChangeEvent, { old, new: after }: Change): boolean {
  if (getKey(attributesOf(after), editorComment) === undefined) return false;
  if (!isSameAttribute(old, after, editorComment)) return true;
  // Entries of a batch share an event, which has the request of the first one only.
  return !body.isEmpty && body.stream === undefined && mentionsComment(body.parse());
}

function mentionsComment(body: JsonValue): boolean {
  if (Array.isArray(body)) {
    // JSON Patch.
    return body.some((step) => isJsonObject(step) && getKey(step, 'path') === `/data/${editorComment}`);
  }
  const data = isJsonObject(body) ? getKey(body, 'data') : undefined;
  return data !== undefined && isJsonObject(data) && getKey(data, editorComment) !== undefined;
}

/** Returns the attributes with empty comments. */
export function withEmptied(attributes: JsonObject, names: readonly string[]): JsonObject {
  return names.length === 0 ? attributes : { ...attributes, ...Object.fromEntries(names.map((name) => [name, ''])) };
}
