// Declared indexes of a list: the form of the attribute `indexes`, the slots that hold their keys, and the keys of an object.
import { createHash } from 'node:crypto';
import { isJsonObject, isStorableText, type JsonObject, type JsonValue } from '../../base/json.ts';
import { StepBudget } from '../../base/json-steps.ts';
import { runAtOnce, type Steps } from '../../base/steps.ts';
import type { IndexKeys } from '../objects/stored.ts';
import type { ListIndex, SortKey } from '../query/ast.ts';
import { isJsonArray } from '../query/compare.ts';
import { parseField, readField } from '../query/fields.ts';
import { indexedWords } from '../text/text-query.ts';
import { encodeInSteps, KeyBytes } from '../query/encode-value.ts';

/** Number of keys that a storage backend keeps with each object for indexes of values. */
export const indexSlots = 8;

/** Slot of the words of an object, separated by spaces, for the text index of the list. */
export const wordSlot = indexSlots;

/** Number of all slots. */
export const keySlots = indexSlots + 1;

/** Maximum number of fields of an index, whatever the settings allow. */
export const hardMaxIndexFields = 16;

/** Maximum length of the name of a field, in characters. */
const maxNameChars = 200;

/** Reports a fault; `name` is relative to the attribute `indexes`, such as `.1.fields`. */
type Complain = (name: string, description: string) => void;

/** Reads the attribute `indexes` of a collection. Returns `undefined`, and reports the faults, when it is malformed. */
export function parseIndexes(value: JsonValue, complain: Complain = () => undefined): readonly ListIndex[] | undefined {
  if (!isJsonArray(value)) {
    complain('', 'expected an array of indexes, such as [{"fields": ["status", "-date"]}, {"text": ["title"]}]');
    return undefined;
  }
  if (value.length > indexSlots) {
    complain('', `${value.length} indexes are more than ${indexSlots}`);
    return undefined;
  }
  const declared = value.map((item, number) =>
    parseIndex(item, (name, description) => {
      complain(`.${number}${name}`, description);
    }),
  );
  const known = declared.filter((index) => index !== undefined);
  if (known.length < declared.length) return undefined;
  return assignSlots(known, complain);
}

type DeclaredIndex = Pick<ListIndex, 'fields' | 'isUnique' | 'isText'>;

function parseIndex(value: JsonValue, complain: Complain): DeclaredIndex | undefined {
  if (!isJsonObject(value)) {
    complain('', 'expected an object, such as {"fields": ["status", "-date"]}');
    return undefined;
  }
  const isText = 'text' in value;
  const unknown = Object.keys(value).find(
    (key) => key !== 'text' && (isText || (key !== 'fields' && key !== 'unique')),
  );
  if (unknown !== undefined) {
    complain(
      `.${unknown.slice(0, maxNameChars)}`,
      isText
        ? 'not accepted by an index of words, which has text only'
        : 'unknown: an index has fields, and may be unique, or text',
    );
    return undefined;
  }
  const { unique = false } = value;
  const fields = parseFields(value, isText ? 'text' : 'fields', complain);
  if (typeof unique !== 'boolean') complain('.unique', 'expected true or false');
  return fields === undefined || typeof unique !== 'boolean' ? undefined : { fields, isUnique: unique, isText };
}

function parseFields(value: JsonObject, member: 'fields' | 'text', complain: Complain): readonly SortKey[] | undefined {
  const fields = value[member];
  if (
    !isJsonArray(fields ?? null) ||
    !isJsonArray(fields) ||
    fields.length === 0 ||
    fields.length > hardMaxIndexFields
  ) {
    complain(`.${member}`, `expected an array of 1 to ${hardMaxIndexFields} names of fields`);
    return undefined;
  }
  const keys: SortKey[] = [];
  for (const [number, name] of fields.entries()) {
    const key = parseKey(name, keys);
    const fault = typeof key === 'string' ? key : faultOf(key, member);
    if (typeof key === 'string' || fault !== undefined) {
      complain(`.${member}.${number}`, fault ?? '');
      return undefined;
    }
    keys.push(key);
  }
  return keys;
}

function faultOf({ direction }: SortKey, member: 'fields' | 'text'): string | undefined {
  return member === 'text' && direction === 'descending'
    ? 'words have no direction: expected the name without -'
    : undefined;
}

/** Returns a field of an index, or what is wrong with it. */
function parseKey(name: JsonValue, before: readonly SortKey[]): SortKey | string {
  if (typeof name !== 'string' || name.length > maxNameChars || !isStorableText(name) || /^-?$/.test(name)) {
    return 'expected the name of a field, such as author.name, with a - before it for descending order';
  }
  const isDescending = name.startsWith('-');
  const field = parseField(isDescending ? name.slice(1) : name);
  if (field.path[0] === 'id' || field.path[0] === 'last_modified') return `${field.name} needs no declared index`;
  if (before.some((key) => key.field.name === field.name)) return `${field.name} is given twice`;
  return { field, direction: isDescending ? 'descending' : 'ascending' };
}

/**
 * Gives each index a slot that depends on the index and on the ones before it only. An index that is added at the end leaves
 * the others in their slots, and so does most often the removal of one.
 */
function assignSlots(declared: readonly DeclaredIndex[], complain: Complain): readonly ListIndex[] | undefined {
  const indexes: ListIndex[] = [];
  for (const [number, index] of declared.entries()) {
    const prefix = digestOf(index);
    if (indexes.some((other) => other.prefix.equals(prefix))) {
      complain(`.${number}`, 'the same index is declared twice');
      return undefined;
    }
    if (index.isText && indexes.some((other) => other.isText)) {
      complain(`.${number}`, 'a second index of words: name all fields in the text of the first one');
      return undefined;
    }
    let slot = prefix[0]! % indexSlots;
    if (index.isText) slot = wordSlot;
    else while (indexes.some((other) => other.slot === slot)) slot = (slot + 1) % indexSlots;
    indexes.push({ ...index, slot, prefix });
  }
  return indexes;
}

const prefixBytes = 8;

/** Changes with the form of keys, so that indexes with keys of another form are built again. */
const keyVersion = 2;

function digestOf({ fields, isUnique, isText }: DeclaredIndex): Buffer {
  const names = fields.map(({ field, direction }) => [field.name, direction]);
  return createHash('sha256')
    .update(JSON.stringify(isText ? [names, 'text'] : [names, isUnique, keyVersion]))
    .digest()
    .subarray(0, prefixBytes);
}

/** Returns the name of an index, as in query plans and states: `status,-date`, or `text(title,body)`. */
export function nameOf({ fields, isText }: Pick<ListIndex, 'fields' | 'isText'>): string {
  const names = fields.map(({ field, direction }) => (direction === 'descending' ? '-' : '') + field.name).join(',');
  return isText ? `text(${names})` : names;
}

/** Maximum length of the encoded values of a key, in bytes. What is longer is cut off. */
const maxKeyBytes = 1024;
const digestBytes = 32;

/** Number of first bytes of an encoding that was cut off. In the key a separator and a digest follow. */
export const keptBytes = maxKeyBytes - 1 - digestBytes;
/** Below and above the bytes that end ranges. */
const separator = 0x80;
/** Maximum length of the encoding that the digest is made of. What is longer may share a digest. */
const digestedBytes = 65_536;

/**
 * Byte after the prefix: keys with all their values, or keys that were cut off. The latter are ordered by their first bytes
 * only, so they are kept apart.
 */
export const keyParts = { cut: 0x00, whole: 0x01 } as const;

/** Returns the key of values, one for each field of the index. */
export function keyOf(index: ListIndex, values: readonly (JsonValue | undefined)[]): Buffer {
  return runAtOnce(keyInSteps(index, values));
}

function* keyInSteps(index: ListIndex, values: readonly (JsonValue | undefined)[]): Steps<Buffer> {
  const { bytes, isCut } = yield* fieldsInSteps(index, values, 0);
  if (!isCut) return Buffer.concat([index.prefix, Buffer.of(keyParts.whole), bytes]);
  const all = new KeyBytes(digestedBytes);
  const budget = new StepBudget();
  for (const value of values) yield* encodeInSteps(all, value, budget);
  const digest = createHash('sha256').update(all.finish()).digest();
  return Buffer.concat([
    index.prefix,
    Buffer.of(keyParts.cut),
    bytes.subarray(0, keptBytes),
    Buffer.of(separator),
    digest,
  ]);
}

/** Whether the key of a row was cut off. */
export function isCutOff({ key }: { readonly key: Buffer }): boolean {
  return key[prefixBytes] === keyParts.cut;
}

/** Returns the part of a key that was cut off which is in the order of the values. */
export function beginningOf(key: Buffer): Buffer {
  return key.subarray(0, prefixBytes + 1 + keptBytes);
}

/** Returns the keys of an object. */
export function keysOf(indexes: readonly ListIndex[], attributes: JsonObject): IndexKeys {
  return runAtOnce(keysInSteps(indexes, attributes));
}

/** Returns the keys of an object in steps: at least one for each key, and more for a key of large values. */
export function* keysInSteps(indexes: readonly ListIndex[], attributes: JsonObject): Steps<IndexKeys> {
  const keys: (Buffer | undefined)[] = [];
  for (const [number, index] of indexes.entries()) {
    if (number > 0) yield;
    keys[index.slot] = index.isText
      ? wordKey(index, attributes)
      : yield* keyInSteps(index, valuesOf(index, attributes));
  }
  return keys;
}

/** Returns the words of an object, `undefined` for an object without words. */
function wordKey({ fields }: ListIndex, attributes: JsonObject): Buffer | undefined {
  const words = indexedWords(
    attributes,
    fields.map(({ field }) => field),
  );
  return words.length === 0 ? undefined : Buffer.from(words.join(' '));
}

/** Returns the values of the fields of an index; `undefined` where one is missing. */
export function valuesOf({ fields }: ListIndex, attributes: JsonObject): readonly (JsonValue | undefined)[] {
  return fields.map(({ field }) => readField(attributes, field));
}

/**
 * Encodes the values of successive fields of an index.
 *
 * @param from number of the field of the first value
 */
export function encodeFields(index: ListIndex, values: readonly (JsonValue | undefined)[], from = 0): EncodedFields {
  return runAtOnce(fieldsInSteps(index, values, from));
}

interface EncodedFields {
  readonly bytes: Buffer;
  readonly isCut: boolean;
}

function* fieldsInSteps(
  { fields }: ListIndex,
  values: readonly (JsonValue | undefined)[],
  from: number,
): Steps<EncodedFields> {
  const bytes = new KeyBytes(maxKeyBytes);
  const budget = new StepBudget();
  for (const [number, value] of values.entries()) {
    const start = bytes.length;
    yield* encodeInSteps(bytes, value, budget);
    if (fields[from + number]?.direction === 'descending') bytes.invertFrom(start);
    if (bytes.isFull()) break;
  }
  return { bytes: bytes.finish(), isCut: bytes.isFull() };
}
