// What clients are sent when an id, or another part of a path, is not acceptable.
import { abbreviateJson } from '../base/abbreviate.ts';
import type { JsonValue } from '../base/json.ts';
import type { Issue } from '../core/errors.ts';
import type { IdRule } from '../core/objects/object-id.ts';

/** Returns the issue about an id that its kind does not accept. */
export function refusedId(location: 'path' | 'body', id: JsonValue, { form }: Pick<IdRule, 'form'>): Issue {
  return { location, name: null, description: `the id ${abbreviateJson(id, 0)} is not allowed. Allowed: ${form}` };
}
