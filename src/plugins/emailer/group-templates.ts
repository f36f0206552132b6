// Ids of groups with placeholders, such as `{collection_id}-editors`, whose values are those of the change.
import { fillTemplate, type Placeholders } from '../../base/template.ts';
import type { Change } from '../../engine/events/event.ts';

/** Without values that any client can choose freely, such as the user agent. */
const names = ['bucket_id', 'collection_id', 'record_id', 'id', 'resource_name', 'action'] as const;

/** The placeholders, for messages. */
export const groupPlaceholders: readonly string[] = names.map((name) => `{${name}}`);

const maxTemplateChars = 500;

/** Values of which one makes a valid id of every useful template: a name and a UUID. */
const samples: readonly Placeholders[] = ['x', '00000000-0000-4000-8000-000000000000'].map(
  (value) => new Map(names.map((name) => [name, value])),
);

/** Returns whether the id in a group URI has placeholders. */
export function isGroupTemplate(id: string): boolean {
  return /[{}]/.test(id);
}

/**
 * Returns whether the template has known placeholders only, and can make valid ids.
 *
 * @param isGroupId returns whether a text is a valid id of a group
 */
export function isValidTemplate(template: string, isGroupId: (text: string) => boolean): boolean {
  if (template.length > maxTemplateChars) return false;
  return samples.some((values) => isGroupId(fillTemplate(template, values)));
}

/** Returns the values that templates can have. */
export function groupValues({ ids, kind, action, new: entry }: Change): Placeholders {
  return new Map([...Object.entries(ids), ['id', entry.id], ['resource_name', kind], ['action', action]]);
}
