// The issue for an id, or another part of a path, that is not acceptable.
import { briefJson } from '../base/brief.ts';
import type { JsonValue } from '../base/json.ts';
import type { Issue } from '../core/errors.ts';
import type { IdRule } from '../core/objects/object-id.ts';

/** Creates the issue for an id that its kind does not accept. */
export function refusedId(location: 'path' | 'body', id: JsonValue, { form }: Pick<IdRule, 'form'>): Issue {
  return { location, name: null, description: `the id ${briefJson(id, 0)} is not allowed. Allowed: ${form}` };
}
