// Checked ids. All code that addresses, locks, reads or writes objects takes these instead of strings: no text from a client
// becomes part of a key before the rule of its kind has accepted it.
import { isBuiltIn, type IdGenerator } from './ids.ts';
import type { UriIds } from './uris.ts';

declare const brand: unique symbol;

/** An id that the rule of its kind accepts, or that storage has returned. */
export type ObjectId = string & { readonly [brand]: 'ObjectId' };

/** Ids in a path, by name: `bucket_id`, `collection_id`, `record_id`. */
export type PathIds = Readonly<Record<string, ObjectId>>;

/** The ids that objects of one kind may have. The only source of new object ids. */
export interface IdRule {
  /** Returns the text as an id, or `undefined` when the kind does not accept it. */
  parse(text: string): ObjectId | undefined;
  /**
   * Returns a new id.
   *
   * @throws Error when the generator makes an id that the rule does not accept
   */
  generate(): ObjectId;
  /** Whether new ids are random enough that no lookup for collisions is needed. */
  readonly isUnique: boolean;
  /** Accepted form, for error messages. */
  readonly form: string;
}

/**
 * Characters with a meaning in keys, patterns or file names, or that not every backend can store. No generator can make them
 * part of an id.
 */
const neverAllowed = /^\.{1,2}$|[\p{Cc}\p{Cs}/*]/u;

/**
 * Returns the rule of a generator.
 *
 * @param setting name of the generator, for messages
 * @param maxLength maximum length of an id in characters; 0 means unlimited
 * @throws Error when the generator makes an id that the rule does not accept
 */
export function createIdRule(setting: string, generator: IdGenerator, maxLength: number): IdRule {
  const limit = maxLength === 0 ? Infinity : maxLength;
  // The built-in forms name every character that they accept, so that one test is enough.
  const accepts = isBuiltIn(generator)
    ? (text: string): boolean => generator.match(text)
    : (text: string): boolean => isSafeId(text) && generator.match(text);
  const form = generator.form ?? `the form of the id generator ${setting}`;
  const rule: IdRule = {
    parse: (text) => (text !== '' && text.length <= limit && accepts(text) ? (text as ObjectId) : undefined),
    generate() {
      const made = generator.generate();
      const id = rule.parse(made);
      if (id === undefined) {
        const text = JSON.stringify(made);
        throw new Error(`The id generator ${setting} does not accept its own id ${text}, or max_id_length does not.`);
      }
      return id;
    },
    isUnique: generator.isUnique === true,
    form: maxLength === 0 ? form : `${form}, at most ${maxLength} characters`,
  };
  rule.generate();
  return rule;
}

/** Whether the text can be an id of any kind, for imported data whose kinds have other rules. */
export function isSafeId(text: string): boolean {
  return text !== '' && !neverAllowed.test(text);
}

const safePath = /^(?:\/(?!\.{1,2}(?:\/|$))[^\p{Cc}\p{Cs}/*]+)*$/u;
const unsafeCharacter = /[\p{Cc}\p{Cs}]/u;

/** Whether the text can be the URI of an object, for imported data: a path of safe ids, or `''` for the root. */
export function isSafeUri(text: string): boolean {
  return safePath.test(text);
}

/**
 * Whether the text can be the parent of lists, for imported data: the URI of an object or a folder below one, or an owner or a
 * folder of a plugin, which begin with no slash and may contain any printable text.
 */
export function isSafeParent(text: string): boolean {
  return text.startsWith('/') ? isSafeUri(text) : !unsafeCharacter.test(text);
}

/** Whether the text can be the name of a kind, for imported data, whose kinds may come from other plugins. */
export function isSafeKind(text: string): boolean {
  return text !== '' && !unsafeCharacter.test(text);
}

/** Casts an id from storage: it was checked when the object was written. */
export function storedId(id: string): ObjectId {
  return id as ObjectId;
}

/** Casts the ids in a URI from storage. */
export function storedIds(ids: UriIds): PathIds {
  return ids as PathIds;
}
