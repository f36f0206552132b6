// JSON schemas of buckets and collections, with the few keywords that the random ones are made of: schema.md of the
// protocol.
import { Refusal } from './exchange.ts';
import {
  compare,
  isList,
  isMap,
  isNumber,
  isSame,
  member,
  valueAt,
  withMember,
  type Json,
  type JsonMap,
} from './json.ts';
import { isWhole } from './numbers.ts';
import { uriOfKind, type Kind, type Place } from './places.ts';
import type { Turn } from './turn.ts';

/** Attributes that hold schemas. */
export const schemaNames: Readonly<Record<Kind, readonly string[]>> = {
  bucket: ['record:schema', 'collection:schema', 'group:schema'],
  group: [],
  collection: ['schema'],
  record: [],
  history: [],
};

const types: Readonly<Record<string, (value: Json) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  string: (value) => typeof value === 'string',
  number: isNumber,
  integer: (value) => isNumber(value) && isWhole(value),
  array: isList,
  object: isMap,
};

const isCount = (value: Json): boolean => Number.isInteger(value) && (value as number) >= 0;

/** What each keyword may say. */
const forms: Readonly<Record<string, (value: Json) => boolean>> = {
  type: (value) => typeof value === 'string' && Object.hasOwn(types, value),
  enum: isList,
  minimum: isNumber,
  exclusiveMinimum: isNumber,
  maxLength: isCount,
  minProperties: isCount,
  required: (value) => isList(value) && value.every((name) => typeof name === 'string'),
  properties: (value) => isMap(value) && Object.values(value).every(isSchema),
  additionalProperties: isSchema,
  items: isSchema,
};

/** Whether a value is a schema. */
export function isSchema(value: Json): boolean {
  if (typeof value === 'boolean') return true;
  return (
    isMap(value) && Object.entries(value).every(([keyword, says]) => (forms[keyword] ?? ((): boolean => true))(says))
  );
}

type Name = string | number;

/** Names of everything that a schema finds wrong. `at`: name of the value, `undefined` for the whole object. */
function faults(schema: Json, value: Json, at?: Name): readonly Name[] {
  if (schema === true) return [];
  if (!isMap(schema)) return [at ?? 'false schema'];
  return Object.entries(schema).flatMap(([keyword, says]) => faultsBy(keyword, says, schema, value, at));
}

function faultsBy(keyword: string, says: Json, schema: JsonMap, value: Json, at: Name | undefined): readonly Name[] {
  const unless = (holds: boolean): readonly Name[] => (holds ? [] : [at ?? keyword]);
  switch (keyword) {
    case 'type':
      return unless(types[says as string]!(value));
    case 'enum':
      return unless((says as readonly Json[]).some((each) => isSame(each, value)));
    case 'minimum':
      return unless(!isNumber(value) || compare(value, says) >= 0);
    case 'exclusiveMinimum':
      return unless(!isNumber(value) || compare(value, says) > 0);
    case 'maxLength':
      return unless(typeof value !== 'string' || Array.from(value).length <= (says as number));
    case 'minProperties':
      return unless(!isMap(value) || Object.keys(value).length >= (says as number));
    case 'required':
      return isMap(value) ? (says as readonly string[]).filter((name) => member(value, name) === undefined) : [];
    case 'properties':
      if (!isMap(value)) return [];
      return Object.entries(says as JsonMap).flatMap(([name, each]) => {
        const own = member(value, name);
        return own === undefined ? [] : faults(each, own, name);
      });
    case 'additionalProperties': {
      const known = member(schema, 'properties');
      const more = isMap(value) ? Object.entries(value).filter(([name]) => !isKnown(known, name)) : [];
      if (says === false) return unless(more.length === 0);
      return more.flatMap(([name, each]) => faults(says, each, name));
    }
    case 'items':
      return isList(value) ? value.flatMap((each, index) => faults(says, each, index)) : [];
    default:
      return [];
  }
}

function isKnown(properties: Json | undefined, name: string): boolean {
  return isMap(properties) && member(properties, name) !== undefined;
}

/**
 * The attributes as they are stored, when the schemas above have nothing against them.
 *
 * @throws Refusal telling of one fault; which one is the choice of the service
 */
export function validated(turn: Turn, place: Place, data: JsonMap): JsonMap {
  const bucket = uriOfKind(place, 'bucket')!;
  if (!turn.world.validatesSchemas || place.kind === 'bucket') return data;
  const own = { ...data, id: place.id! };
  if (place.kind !== 'record') {
    requireValid(turn, schemaIn(turn, bucket, `${place.kind}:schema`), own, []);
    return data;
  }
  const collection = uriOfKind(place, 'collection')!;
  const schema = schemaIn(turn, collection, 'schema');
  requireValid(turn, schema, own, ['schema']);
  requireValid(turn, schemaIn(turn, bucket, 'record:schema'), own, ['schema']);
  return schema === undefined ? data : withMember(data, 'schema', turn.store.find(collection)!.lastModified);
}

function schemaIn({ store }: Turn, uri: string, name: string): JsonMap | undefined {
  const value = member(store.find(uri)!.data, name);
  return isMap(value) ? value : undefined;
}

function requireValid({ hint }: Turn, schema: JsonMap | undefined, data: JsonMap, internal: readonly string[]): void {
  if (schema === undefined) return;
  const hidden = ['last_modified', ...internal, ...(isKnown(member(schema, 'properties'), 'id') ? [] : ['id'])];
  const visible = Object.fromEntries(Object.entries(data).filter(([name]) => !hidden.includes(name)));
  const required = member(schema, 'required');
  const asked = isList(required)
    ? withMember(
        schema,
        'required',
        required.filter((name) => !hidden.includes(name as string)),
      )
    : schema;
  const names = faults(asked, visible);
  if (names.length === 0) return;
  const details = isMap(hint.body) ? member(hint.body, 'details') : undefined;
  const told = isList(details) && isMap(details[0]) ? valueAt(details[0], 'name') : undefined;
  throw new Refusal(400, 107, [{ location: 'body', name: names.find((name) => name === told) ?? names[0]! }]);
}
