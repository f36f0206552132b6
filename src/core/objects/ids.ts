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

const generators: ReadonlyMap<string, IdGenerator> = new Map([
  ['UUID4', { generate: generateUuid, match: (id: string) => uuid.test(id), isUnique: true }],
  ['NameGenerator', { generate: generateName, match: (id: string) => name.test(id) }],
  ['RelaxedUUID', { generate: generateUuid, match: (id: string) => name.test(id), isUnique: true }],
  ['AccountIdGenerator', { generate: generateName, match: (id: string) => accountName.test(id) }],
]);

/** The built-in generator of that name, also when existing deployments write it as a dotted path ending in the name. */
export function findIdGenerator(setting: string): IdGenerator | undefined {
  return generators.get(setting.slice(setting.lastIndexOf('.') + 1));
}

/**
 * To be called at start for each generator in use, custom ones above all.
 *
 * @throws Error when the generator does not accept an id of its own
 */
export function requireSelfMatching(setting: string, generator: IdGenerator): void {
  const id = generator.generate();
  if (!generator.match(id)) throw new Error(`the id generator ${setting} does not accept its own id ${id}`);
}
