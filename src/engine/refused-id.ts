// What clients are sent when an id, or another part of a path, is not acceptable.
import type { Issue } from '../core/errors.ts';
import type { IdRule } from '../core/objects/object-id.ts';

/** Returns the issue about an id that its kind does not accept. */
export function refusedId(location: 'path' | 'body', { form }: Pick<IdRule, 'form'>): Issue {
  return { location, name: null, description: `this id is not allowed: accepted are ${form}` };
}
