// Id generators: the form of new ids and the ids that are accepted. Settings choose one for each kind by name; see
// docs/reference/http-api/README.md#ids.
import { randomBytes, randomUUID } from 'node:crypto';

export interface IdGenerator {
  /** Returns a new id that cannot be guessed. */
  generate(): string;
  /** Whether the whole id has the accepted form. Another check limits the length. */
  match(id: string): boolean;
  /** Whether ids are random enough that no lookup for collisions is needed. */
  readonly isUnique?: boolean;
  /** Accepted form, for error messages: `letters and digits`. */
  readonly form?: string;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const name = /^[a-zA-Z0-9][a-zA-Z0-9_-]*$/;
const accountName = /^[a-zA-Z0-9][+.@a-zA-Z0-9_-]*$/;

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const firstLetters = 62;
const nameLength = 8;

function generateName(): string {
  let text = '';
  while (text.length < nameLength) {
    for (const byte of randomBytes(16)) {
      // 64 divides 256, so six bits are uniform. The first character must not be "-" or "_" and is drawn again.
      const pick = byte & 63;
      if (text === '' && pick >= firstLetters) continue;
      text += alphabet[pick]!;
      if (text.length === nameLength) break;
    }
  }
  return text;
}

/**
 * Returns an id in the form of a version 4 UUID whose first 48 bits are the time: consecutive ids are neighbours in database
 * indexes. The other 74 bits are random.
 */
function generateUuid(): string {
  const now = Date.now();
  if (now !== timePrefix.time) timePrefix = { time: now, text: formatTimePrefix(now) };
  return timePrefix.text + randomUUID().slice(13);
}

/** Cached, because under load many ids are generated in one millisecond. */
let timePrefix = { time: Number.NaN, text: '' };

function formatTimePrefix(time: number): string {
  const digits = time.toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}`;
}

const uuidForm = 'a lower-case UUID';
const nameForm = 'letters, digits, "-" and "_", with a letter or digit first';
const accountForm = 'letters, digits and any of "-_+.@", with a letter or digit first';

const generators: ReadonlyMap<string, IdGenerator> = new Map([
  ['UUID4', builtIn(generateUuid, uuid, uuidForm, true)],
  ['NameGenerator', builtIn(generateName, name, nameForm)],
  ['RelaxedUUID', builtIn(generateUuid, name, nameForm, true)],
  ['AccountIdGenerator', builtIn(generateName, accountName, accountForm)],
]);

function builtIn(generate: () => string, pattern: RegExp, form: string, isUnique = false): IdGenerator {
  return { generate, match: (id) => pattern.test(id), isUnique, form };
}

const builtInGenerators: ReadonlySet<IdGenerator> = new Set(generators.values());

/** Whether the generator is built in. The forms of those name every character that they accept. */
export function isBuiltIn(generator: IdGenerator): boolean {
  return builtInGenerators.has(generator);
}

/** Returns the built-in generator of that name. The name may be the last part of a dotted path, as Kinto writes it. */
export function findIdGenerator(setting: string): IdGenerator | undefined {
  return generators.get(setting.slice(setting.lastIndexOf('.') + 1));
}
