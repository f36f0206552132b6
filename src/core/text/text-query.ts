// Text search: the query of the parameter `_q`, which objects match it, and how well.
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isTombstone, type StoredEntry } from '../objects/stored.ts';
import type { Field } from '../query/ast.ts';
import { isJsonArray } from '../query/compare.ts';
import { readField } from '../query/fields.ts';
import { isUnspaced, wordsOf, type Word } from './words.ts';

/** A word or a phrase. */
export interface TextTerm {
  /** Words that follow each other, at least one. */
  readonly words: readonly Word[];
  /** Whether the last word may be the beginning of a longer one. */
  readonly isPrefix: boolean;
}

/** A query: objects have all wanted terms, at least one, and no excluded one. */
export interface TextQuery {
  readonly wanted: readonly TextTerm[];
  readonly excluded: readonly TextTerm[];
}

/** A query of the fields of a text index. */
export interface TextSearch extends TextQuery {
  readonly fields: readonly Field[];
}

/** What an index of words finds: objects with all of the words, and a word with each of the prefixes. */
export interface WordSearch {
  readonly words: readonly Word[];
  readonly prefixes: readonly Word[];
}

/** Minimum length of a word before `*`. */
const minPrefixChars = 2;

/** Texts of an object beyond so many characters are not searched. */
const maxTextChars = 100_000;

const part = /(-?)"([^"]*)(?:"(\*?)|$)|(-?)([^\s"]+)/g;

/**
 * Parses a query: words, `"phrases"`, `prefix*`, and `-excluded` ones. Text between other characters, as in `e-mail`, is a
 * phrase.
 *
 * @returns a description of the fault for a query without words
 */
export function parseTextQuery(text: string): TextQuery | string {
  const wanted: TextTerm[] = [];
  const excluded: TextTerm[] = [];
  for (const [, phraseSign, phrase, phraseStar, sign, plain = ''] of text.matchAll(part)) {
    const words = wordsOf(phrase ?? plain);
    const last = words.at(-1);
    if (last === undefined) continue;
    const hasStar = phrase === undefined ? plain.endsWith('*') : phraseStar === '*';
    const isPrefix = hasStar && !isUnspaced(last);
    if (isPrefix && last.length < minPrefixChars) return `at least ${minPrefixChars} letters are needed before *`;
    const isExcluded = (phraseSign ?? sign) === '-';
    (isExcluded ? excluded : wanted).push({ words, isPrefix });
  }
  return wanted.length === 0
    ? 'expected at least one word to search for, such as: apple "green tea" choc* -milk'
    : { wanted, excluded };
}

/** Returns what an index has to find. All matching objects are among those found. */
export function wordSearchOf({ wanted }: TextQuery): WordSearch {
  const words = new Set<Word>();
  const prefixes = new Set<Word>();
  for (const term of wanted) {
    for (const [number, word] of term.words.entries()) {
      const isBeginning = term.isPrefix && number === term.words.length - 1;
      (isBeginning ? prefixes : words).add(word);
    }
  }
  return { words: [...words], prefixes: [...prefixes] };
}

/** Whether all objects that an index finds match. */
export function isExactSearch({ wanted, excluded }: TextQuery): boolean {
  return excluded.length === 0 && wanted.every(({ words }) => words.length === 1);
}

/** Returns the different words of an object in the fields, for an index. */
export function indexedWords(attributes: JsonObject, fields: readonly Field[]): readonly Word[] {
  return [...new Set(readTexts(attributes, fields).flatMap(({ words }) => words))];
}

/** A text of an object as words. Phrases do not continue in another text. */
interface TextWords {
  /** Number of the field. */
  readonly field: number;
  readonly words: readonly Word[];
}

/** Reads the texts of the fields: a text itself, or the texts of an array. */
function readTexts(attributes: JsonObject, fields: readonly Field[]): readonly TextWords[] {
  const texts: TextWords[] = [];
  let left = maxTextChars;
  const add = (field: number, value: JsonValue | undefined): void => {
    if (typeof value !== 'string' || left <= 0) return;
    texts.push({ field, words: wordsOf(value.slice(0, left)) });
    left -= value.length;
  };
  for (const [number, field] of fields.entries()) {
    const value = readField(attributes, field);
    if (isJsonArray(value ?? null) && isJsonArray(value)) for (const item of value) add(number, item);
    else add(number, value);
  }
  return texts;
}

/** Whether an object matches. Tombstones match no query. */
export function matchesText(entry: StoredEntry, search: TextSearch): boolean {
  return scoreText(entry, search) !== undefined;
}

/**
 * Returns how well an object matches, a number above 0; `undefined` when it does not match. More occurrences of a term count
 * more, in short texts more than in long ones, and in earlier fields more than in later ones. The score depends on the object
 * and the query alone, so it is the same on every backend and does not change between pages.
 */
export function scoreText(entry: StoredEntry, { fields, wanted, excluded }: TextSearch): number | undefined {
  if (isTombstone(entry)) return undefined;
  const texts = readTexts(entry.attributes, fields);
  if (excluded.some((term) => texts.some(({ words }) => countTerm(words, term) > 0))) return undefined;
  let score = 0;
  for (const term of wanted) {
    let ofTerm = 0;
    for (const { field, words } of texts) {
      const count = countTerm(words, term);
      if (count > 0) ofTerm += count / (count + 1 + words.length / usualWords) / (field + 1);
    }
    if (ofTerm === 0) return undefined;
    score += ofTerm;
  }
  return Math.round(score * scoreDigits) / scoreDigits;
}

/** Number of words of a text of usual length. */
const usualWords = 50;
const scoreDigits = 1e6;

/** Returns how often a term occurs among words. */
function countTerm(words: readonly Word[], { words: wanted, isPrefix }: TextTerm): number {
  const last = wanted.length - 1;
  let count = 0;
  for (let start = 0; start + last < words.length; start++) {
    let at = 0;
    while (at < last && words[start + at] === wanted[at]) at++;
    if (at < last) continue;
    const word = words[start + last]!;
    if (isPrefix ? word.startsWith(wanted[last]!) : word === wanted[last]) count++;
  }
  return count;
}
