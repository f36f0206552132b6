// Text search: the query of the parameter `_q`, which objects match it, and how well.
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';
import { charsOf, isTombstone, type StoredEntry } from '../objects/stored.ts';
import type { Field } from '../query/ast.ts';
import { charsOfSearchWork, type QueryBudget } from '../query/budget.ts';
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
  /** Limits the work of the whole query; absent: unlimited. */
  readonly budget?: QueryBudget | undefined;
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
export function wordSearchOf({ wanted }: TextQuery, budget?: QueryBudget): WordSearch {
  const words = new Set<Word>();
  const prefixes = new Set<Word>();
  for (const term of wanted) {
    for (const [number, word] of term.words.entries()) {
      const isBeginning = term.isPrefix && number === term.words.length - 1;
      (isBeginning ? prefixes : words).add(word);
    }
  }
  return { words: [...words], prefixes: [...prefixes], budget };
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

/** Counts the work of tests until the next pause is due, in characters and in comparisons of words. */
export class SearchBudget {
  readonly #ofQuery: QueryBudget | undefined;
  #left = searchStep;

  /** @param ofQuery limits the work of the whole query; absent: unlimited */
  constructor(ofQuery?: QueryBudget) {
    this.#ofQuery = ofQuery;
  }

  /** Returns whether the step should end with this work. */
  spend(work: number): boolean {
    this.#ofQuery?.spend(work * charsOfSearchWork);
    this.#left -= work;
    if (this.#left > 0) return false;
    this.#left = searchStep;
    return true;
  }
}

/** Work of one step, and of an object besides its text. */
const searchStep = 50_000;
const workOfObject = 1000;
/** Comparisons of words that take the time of a character. */
const comparisonsPerChar = 4;

/**
 * Returns how well an object matches, a number above 0; `undefined` when it does not match, as tombstones never do. More
 * occurrences of a term count more, in short texts more than in long ones, and in earlier fields more than in later ones. The
 * score depends on the object and the query alone, so it is the same on every backend and does not change between pages.
 */
export function* scoreInSteps(
  entry: StoredEntry,
  { fields, wanted, excluded }: TextSearch,
  budget: SearchBudget,
): Steps<number | undefined> {
  if (isTombstone(entry)) return undefined;
  const texts = readTexts(yield* entry.read(), fields);
  if (budget.spend(workOfObject + Math.min(charsOf(entry), maxTextChars))) yield;
  for (const term of excluded) {
    for (const { words } of texts) if ((yield* countTerm(words, term, budget)) > 0) return undefined;
  }
  let score = 0;
  for (const term of wanted) {
    let ofTerm = 0;
    for (const { field, words } of texts) {
      const count = yield* countTerm(words, term, budget);
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
function* countTerm(words: readonly Word[], term: TextTerm, budget: SearchBudget): Steps<number> {
  const { words: wanted, isPrefix } = term;
  const last = wanted.length - 1;
  const lastWord = wanted[last]!;
  const borders = bordersOf(term);
  let count = 0;
  /** How many of the words before this one are the first ones of the phrase. */
  let matched = 0;
  for (const word of words) {
    if (matched === last && (isPrefix ? word.startsWith(lastWord) : word === lastWord)) count++;
    if (last === 0) continue;
    while (matched > 0 && (matched === last || word !== wanted[matched])) matched = borders[matched - 1]!;
    if (word === wanted[matched]) matched++;
  }
  if (budget.spend(words.length / comparisonsPerChar)) yield;
  return count;
}

const bordersOfTerms = new WeakMap<TextTerm, readonly number[]>();

/**
 * Returns, for each number of first words of a phrase, how many of its first words these end with, fewer than all: so a
 * search never goes back in the text.
 */
function bordersOf(term: TextTerm): readonly number[] {
  const known = bordersOfTerms.get(term);
  if (known !== undefined) return known;
  const words = term.words.slice(0, -1);
  const borders = words.map(() => 0);
  let length = 0;
  for (let at = 1; at < words.length; at++) {
    while (length > 0 && words[length] !== words[at]) length = borders[length - 1]!;
    if (words[length] === words[at]) length++;
    borders[at] = length;
  }
  bordersOfTerms.set(term, borders);
  return borders;
}
