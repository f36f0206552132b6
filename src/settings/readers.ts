// Typed readers of settings. A reader never throws; it returns the expected form, so that all wrong settings can be reported
// together.
import { isMailbox } from '../base/mail-addresses.ts';

/** Result of a reader. */
export type Reading<T> =
  /** `note`: how to replace a deprecated spelling. */
  | { readonly kind: 'value'; readonly value: T; readonly note?: string }
  /** Empty, which counts as not set. */
  | { readonly kind: 'unset' }
  | { readonly kind: 'wrong'; readonly expected: string };

export interface Reader<T> {
  /** Accepted values, as a noun phrase for documentation and error messages. */
  readonly form: string;
  /** Reads the trimmed text from a file or the environment. */
  readonly read: (given: string) => Reading<T>;
}

const unset: Reading<never> = { kind: 'unset' };

function value<T>(of: T, note?: string): Reading<T> {
  return note === undefined ? { kind: 'value', value: of } : { kind: 'value', value: of, note };
}

function wrong(expected: string): Reading<never> {
  return { kind: 'wrong', expected };
}

/** Returns the text that readers read as exactly these characters: quoted as JSON when it would mean something else. */
export function wrapText(meant: string): string {
  return meant === 'null' || meant.startsWith('"') || meant.trim() !== meant ? JSON.stringify(meant) : meant;
}

/** Returns the text of a JSON spelling: `"a b"` is `a b`, `null` is empty, other texts are unchanged. */
export function unwrap(given: string): string {
  if (given === 'null') return '';
  if (!given.startsWith('"')) return given;
  try {
    const parsed: unknown = JSON.parse(given);
    return typeof parsed === 'string' ? parsed : given;
  } catch {
    return given;
  }
}

/** Returns a reader of one text. `convert` returns the value, or `undefined` for an unacceptable text. */
function scalar<T>(form: string, convert: (given: string) => T | undefined): Reader<T> {
  return {
    form,
    read(given) {
      const unwrapped = unwrap(given);
      if (unwrapped === '') return unset;
      const converted = convert(unwrapped);
      return converted === undefined ? wrong(form) : value(converted);
    },
  };
}

/** Reads any text. */
export function text(form = 'text'): Reader<string> {
  return scalar(form, (given) => given);
}

/** Reads one e-mail address, with or without a name. */
export function mailbox(): Reader<string> {
  return scalar('an e-mail address, such as coffer@example.org or Coffer <coffer@example.org>', (given) =>
    isMailbox(given) ? given : undefined,
  );
}

/** Reads a text that matches the pattern. */
export function matching(pattern: RegExp, form: string): Reader<string> {
  return scalar(form, (given) => (pattern.test(given) ? given : undefined));
}

/** Reads a regular expression; returns its text. */
export function regexp(): Reader<string> {
  return scalar('a regular expression', (given) => {
    try {
      return new RegExp(given).source === '' ? undefined : given;
    } catch {
      return undefined;
    }
  });
}

interface Range {
  readonly min?: number;
  readonly max?: number;
}

/** Reads an integer. */
export function integer(range: Range = {}): Reader<number> {
  return scalar(withRange('a whole number', range), (given) =>
    /^[+-]?\d{1,16}$/.test(given) ? within(Number(given), range) : undefined,
  );
}

/** Reads an integer, or a word that is resolved later. */
export function integerOr<const T extends string>(word: T, range: Range = {}): Reader<number | T> {
  const whole = integer(range);
  return scalar<number | T>(`${whole.form}, or ${word}`, (given) => {
    if (given === word) return word;
    const reading = whole.read(given);
    return reading.kind === 'value' ? reading.value : undefined;
  });
}

/** Reads a number. */
export function number(range: Range = {}): Reader<number> {
  return scalar(withRange('a number', range), (given) =>
    /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(given) ? within(Number(given), range) : undefined,
  );
}

const secondsOf: Readonly<Record<string, number>> = { '': 1, ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 };

/** Reads a duration in seconds; the units `ms`, `s`, `m`, `h` and `d` are accepted: `90`, `1.5`, `250ms`, `2m`. */
export function duration(range: Range = {}): Reader<number> {
  const form = `${withRange('a number of seconds', range)} (or with a unit, as in 500ms, 30s, 5m)`;
  return scalar(form, (given) => {
    const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|)$/.exec(given);
    const factor = match === null ? undefined : secondsOf[match[2] ?? ''];
    return match === null || factor === undefined ? undefined : within(Number(match[1]) * factor, range);
  });
}

function within(
  given: number,
  { min = -Number.MAX_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER }: Range,
): number | undefined {
  return given >= min && given <= max ? given : undefined;
}

function withRange(noun: string, { min, max }: Range): string {
  if (min !== undefined && max !== undefined) return `${noun} from ${min} to ${max}`;
  if (min !== undefined) return `${noun}, ${min} or more`;
  if (max !== undefined) return `${noun}, ${max} or less`;
  return noun;
}

const yes = new Set(['true', 't', 'yes', 'y', 'on', '1']);
const no = new Set(['false', 'f', 'no', 'n', 'off', '0']);

/** Reads a boolean, in the spellings of docs/reference/settings.md. */
export function flag(): Reader<boolean> {
  return scalar('true or false', (given) => {
    const lower = given.toLowerCase();
    return yes.has(lower) ? true : no.has(lower) ? false : undefined;
  });
}

/** Beginning of a JSON array of texts, and of a JSON object. No word of a list has it. */
const jsonBeginning = /^(?:\[\s*["']|\{)/;

/** Reads words separated by blanks, commas or newlines, or a JSON array. An empty text is the empty list. */
export function list(form = 'words separated by spaces or commas'): Reader<readonly string[]> {
  return {
    form,
    read(given) {
      const items = given.startsWith('[') ? parseArray(given) : 'malformed';
      if (items === 'malformed') return jsonBeginning.test(given) ? wrong(form) : value(splitWords(unwrap(given)));
      return items === 'mixed' ? wrong(form) : value(items);
    },
  };
}

/** Reads a list of acceptable words. */
export function listOf(isAcceptable: (word: string) => boolean, form: string): Reader<readonly string[]> {
  const words = list(form);
  return {
    form,
    read(given) {
      const reading = words.read(given);
      return reading.kind === 'value' && !reading.value.every(isAcceptable) ? wrong(form) : reading;
    },
  };
}

function splitWords(given: string): readonly string[] {
  return given.split(/[\s,]+/).filter((word) => word !== '');
}

function parseArray(given: string): readonly string[] | 'malformed' | 'mixed' {
  let parsed: unknown;
  try {
    parsed = JSON.parse(given);
  } catch {
    return 'malformed';
  }
  if (!Array.isArray(parsed)) return 'malformed';
  const items: string[] = [];
  for (const item of parsed as readonly unknown[]) {
    if (typeof item !== 'string' && typeof item !== 'number' && typeof item !== 'boolean') return 'mixed';
    items.push(String(item));
  }
  return items;
}

/** Reads a list of numbers in ascending order; `Inf` is the largest. */
export function numberList(form: string): Reader<readonly number[]> {
  const words = list(form);
  return {
    form,
    read(given) {
      const reading = words.read(given);
      if (reading.kind !== 'value') return reading;
      const all = reading.value.map((word) => (/^\+?inf(?:inity)?$/i.test(word) ? Infinity : Number(word)));
      const isRising = all.every((each, index) => index === 0 || each > all[index - 1]!);
      return all.length > 0 && isRising && !all.some(Number.isNaN) ? value(all) : wrong(form);
    },
  };
}

/** The current names of a word in a list, and a note when the word is deprecated. */
export interface Renamed {
  readonly names: readonly string[];
  readonly note?: string;
}

/** Reads a list and maps each word to any number of names; returns each name once. */
export function renamedList(rename: (word: string) => Renamed, form?: string): Reader<readonly string[]> {
  const words = list(form);
  return {
    form: words.form,
    read(given) {
      const reading = words.read(given);
      if (reading.kind !== 'value') return reading;
      const renamed = reading.value.map(rename);
      const notes = renamed.flatMap(({ note }) => (note === undefined ? [] : [note]));
      const names = new Set(renamed.flatMap((each) => each.names));
      return value([...names], notes.length === 0 ? undefined : notes.join('; '));
    },
  };
}

/** Reads one of the words. */
export function choice<const T extends string>(...words: readonly T[]): Reader<T> {
  return scalar(words.length === 1 ? words[0]! : `one of ${words.join(', ')}`, (given) =>
    words.find((word) => word === given),
  );
}

/**
 * Reads one of the words, also as the last part of a dotted path, as in configurations of Kinto: `kinto.core.storage.memory`
 * for `memory`.
 *
 * @param options.isDeprecated whether the dotted spelling causes a warning
 * @param options.aliases dotted paths with another last part, and the word they mean
 */
export function dottedChoice<const T extends string>(
  words: readonly T[],
  options: {
    readonly isDeprecated: boolean;
    readonly hint?: string;
    readonly aliases?: Readonly<Record<string, T>>;
  },
): Reader<T> {
  const form = `one of ${words.join(', ')}`;
  const expected = options.hint === undefined ? form : `${form} (${options.hint})`;
  return {
    form,
    read(given) {
      const unwrapped = unwrap(given);
      if (unwrapped === '') return unset;
      const last = unwrapped.slice(unwrapped.lastIndexOf('.') + 1);
      const { aliases = {} } = options;
      const meant = Object.hasOwn(aliases, unwrapped) ? aliases[unwrapped] : last;
      const word = words.find((candidate) => candidate === meant);
      if (word === undefined) return wrong(expected);
      if (word === unwrapped || !options.isDeprecated) return value(word);
      return value(word, `${unwrapped} is deprecated; write ${word}`);
    },
  };
}

/**
 * Reads one of the words as `dottedChoice` does, or a name that is resolved later, such as that of a module.
 *
 * @param options.form description of the other names, a noun phrase
 * @param options.pattern pattern of the other names
 */
export function dottedChoiceOr<const T extends string>(
  words: readonly T[],
  options: Parameters<typeof dottedChoice<T>>[1] & { readonly form: string; readonly pattern: RegExp },
): Reader<string> {
  const known = dottedChoice(words, options);
  const form = `${known.form}, or ${options.form}`;
  return {
    form,
    read(given) {
      const name = unwrap(given);
      // The end of a path may look like a dotted word.
      const reading = /^(?:\.|\/|file:)/.test(name) ? wrong(form) : known.read(given);
      if (reading.kind !== 'wrong') return reading;
      return options.pattern.test(name) ? value(name) : wrong(form);
    },
  };
}

/** Reads one of the integers. */
export function numberChoice<const T extends number>(...numbers: readonly T[]): Reader<T> {
  return scalar(`one of ${numbers.join(', ')}`, (given) => numbers.find((candidate) => String(candidate) === given));
}

/** A point in time and its original text. */
export interface DateSetting {
  readonly text: string;
  /** Milliseconds since 1970 UTC. */
  readonly time: number;
}

/** Reads an ISO 8601 date with or without a time; the default zone is UTC. */
export function date(): Reader<DateSetting> {
  return scalar('a date such as 2027-12-31 or 2027-12-31T12:00:00Z', (given) => {
    const match = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:?\d{2})?)?$/i.exec(given);
    if (match === null) return undefined;
    const time = Date.parse(`${match[1]}T${match[2] ?? '00:00'}${match[3] ?? 'Z'}`);
    const isReal = Number.isFinite(time) && new Date(`${match[1]}T00:00Z`).toISOString().startsWith(match[1]!);
    return isReal ? { text: given, time } : undefined;
  });
}

/** Reads an HTTP URL. */
export function url(): Reader<string> {
  return scalar('a URL that starts with http:// or https://', (given) => {
    const parsed = URL.canParse(given) ? new URL(given) : undefined;
    return parsed?.protocol === 'http:' || parsed?.protocol === 'https:' ? given : undefined;
  });
}

/** Types a reader for a setting that may have no value. */
export function optional<T>(reader: Reader<T>): Reader<T | undefined> {
  return reader;
}

/** Reads an empty text as `undefined` (none, unlimited), which replaces the default. */
export function orNone<T>(reader: Reader<T>): Reader<T | undefined> {
  return {
    form: `${reader.form}, or empty`,
    read(given) {
      const reading = reader.read(given);
      return reading.kind === 'unset' ? value(undefined) : reading;
    },
  };
}
