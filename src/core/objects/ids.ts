// Id generators: what new ids look like and which ids are accepted. Settings choose one for each kind by name; see
// docs/reference/http-api/README.md#ids.
import { randomBytes, randomUUID } from 'node:crypto';

export interface IdGenerator {
  /** A new id that nobody can guess. */
  generate(): string;
  /** Whether the whole id has the accepted form. Length is limited elsewhere. */
  match(id: string): boolean;
  /** Whether ids are random enough that nobody has to look whether one is taken. */
  readonly isUnique?: boolean;
  /** The accepted form in words, for error messages: `letters and digits`. */
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
      // 64 divides 256, so six bits pick evenly; the first character redraws the two marks it may not be.
      const pick = byte & 63;
      if (text === '' && pick >= firstLetters) continue;
      text += alphabet[pick]!;
      if (text.length === nameLength) break;
    }
  }
  return text;
}

/**
 * In the form of UUIDs of version 4, but the first 48 bits are the time, so that ids which are made one after the other stand
 * together in the indexes of databases. The other 74 bits are random.
 */
function generateUuid(): string {
  const now = Date.now();
  if (now !== beginning.time) beginning = { time: now, text: beginningAt(now) };
  return beginning.text + randomUUID().slice(13);
}

/** Under load many ids are drawn in one millisecond. */
let beginning = { time: Number.NaN, text: '' };

function beginningAt(time: number): string {
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

/** Whether the generator is one of those above, whose forms name every character that they accept. */
export function isBuiltIn(generator: IdGenerator): boolean {
  return builtInGenerators.has(generator);
}

/** The built-in generator of that name, also when existing deployments write it as a dotted path ending in the name. */
export function findIdGenerator(setting: string): IdGenerator | undefined {
  return generators.get(setting.slice(setting.lastIndexOf('.') + 1));
}
