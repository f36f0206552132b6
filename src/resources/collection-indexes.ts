// The attribute `indexes` of collections, which declares indexes of their records.
import { getKey, type JsonObject, type JsonValue } from '../base/json.ts';
import { invalidParameters, type Issue } from '../core/errors.ts';
import { hardMaxIndexFields, parseIndexes } from '../core/index/definition.ts';
import { StoredObject, type ListKey } from '../core/objects/stored.ts';
import type { ObjectUri } from '../core/objects/uris.ts';
import { equalValues } from '../core/query/compare.ts';
import type { Change } from '../engine/events/event.ts';
import { declareIndexes } from '../engine/index-states.ts';
import type { PendingWrite } from '../engine/kind.ts';
import { indexesOf } from '../engine/list-indexes.ts';
import type { Writer } from '../engine/unit-of-work.ts';
import type { ResourceOptions } from './options.ts';

type IndexLimits = Pick<ResourceOptions, 'maxIndexes' | 'maxIndexFields'>;

/**
 * Requires declared indexes to be well-formed, unless they are those stored: an imported collection may use the name of the
 * attribute for something else.
 *
 * @throws ServiceError invalidParameters
 */
export function requireWellFormed({ attributes, old }: PendingWrite, limits: IndexLimits): void {
  const value = getKey(attributes, 'indexes');
  if (value === undefined || (old !== undefined && equalValues(value, getKey(old.attributes, 'indexes')))) return;
  const issues = faultsOf(value, limits);
  if (issues.length > 0) throw invalidParameters(issues);
}

function faultsOf(value: JsonValue, { maxIndexes, maxIndexFields }: IndexLimits): readonly Issue[] {
  const issues: Issue[] = [];
  const complain = (place: string, description: string): void => {
    issues.push({ location: 'body', name: `data.indexes${place}`, description });
  };
  const declared = parseIndexes(value, complain) ?? [];
  if (declared.length > maxIndexes)
    complain('', `${declared.length} indexes are more than ${maxIndexes} (max_indexes)`);
  for (const [number, { fields, isText }] of declared.entries()) {
    if (fields.length <= maxIndexFields) continue;
    const member = isText ? 'text' : 'fields';
    complain(`.${number}.${member}`, `${fields.length} fields are more than ${maxIndexFields} (max_index_fields)`);
  }
  return issues;
}

/** Returns the list of the records of a collection. */
export function recordsOf(uri: ObjectUri): ListKey {
  return { kind: 'record', parent: uri };
}

/** Whether a change of a collection declares other indexes. */
export function changesIndexes({ old, new: now }: Pick<Change, 'old' | 'new'>): boolean {
  const [before, after] = [old, now].map((object) => (object instanceof StoredObject ? indexesOf(object) : []));
  return (
    before!.length !== after!.length || !after!.every(({ prefix }, number) => before![number]!.prefix.equals(prefix))
  );
}

/** Records what a change of a collection declares. From now on all writes of records maintain these indexes. */
export async function declareByCollection(change: Change, { storage }: Writer): Promise<void> {
  if (!(change.new instanceof StoredObject) || !changesIndexes(change)) return;
  await declareIndexes(storage, recordsOf(change.uri), indexesOf(change.new));
}

const describedNames: JsonObject = {
  type: 'array',
  items: { type: 'string' },
  minItems: 1,
  maxItems: hardMaxIndexFields,
};

/** JSON Schema of the attribute, for API descriptions. */
export const describedIndexes: JsonObject = {
  type: 'array',
  description: 'Indexes of the records.',
  items: {
    type: 'object',
    properties: {
      fields: { ...describedNames, description: 'Fields of an index of values; a minus sign reverses the order.' },
      unique: { type: 'boolean', description: 'Whether no two records may have the same values.' },
      text: { ...describedNames, description: 'Fields of the index of words, for text search.' },
    },
    additionalProperties: false,
  },
};
