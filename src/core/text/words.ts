// Splits texts into words for text search, in the same way for stored texts and for queries. All backends store these words, so
// the objects that match a query are the same everywhere.
import { limitMarks } from './marks.ts';

declare const isWord: unique symbol;

/** A word that `wordsOf` has returned: folded letters, digits and marks, at least one. */
export type Word = string & { readonly [isWord]: true };

/** Maximum length of a word, in UTF-16 units. The rest of longer words is ignored. */
const maxWordChars = 64;

/** Scripts that are written without spaces. */
const unspaced = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar']
  .map((script) => String.raw`\p{scx=${script}}`)
  .join('');
const letters = String.raw`[\p{L}\p{N}]`;

/** A word: a run of letters, digits and marks, or one letter of a script without spaces. */
const anyWord = new RegExp(
  String.raw`[[${unspaced}]&&${letters}]\p{M}*|[[\p{L}\p{N}\p{M}]--[[${unspaced}]&&${letters}]]+`,
  'gv',
);
const unspacedWord = new RegExp(String.raw`^[[${unspaced}]&&${letters}]\p{M}*$`, 'v');

const asciiWord = /[a-z0-9]+/g;
const isAscii = /^[\0-\u007f]*$/;

/** Accents that are dropped: those of Latin, Greek and Cyrillic letters. */
const accents = /[\u0300-\u036f]/g;

/**
 * Returns the words of a text in their order. Case and accents are folded, and compatible characters become the usual ones.
 * In scripts without spaces each letter is a word.
 */
export function wordsOf(text: string): readonly Word[] {
  if (isAscii.test(text)) return cutLong(text.toLowerCase().match(asciiWord) ?? []);
  return cutLong(fold(text).match(anyWord) ?? []);
}

/** Whether a word is a letter of a script without spaces, which has no later letters. */
export function isUnspaced(word: string): boolean {
  return unspacedWord.test(word);
}

/** Some letters stand for whole phrases. What is longer after they were replaced is ignored. */
const maxFoldedChars = 200_000;

function fold(text: string): string {
  const decomposed = limitMarks(text).normalize('NFKD').slice(0, maxFoldedChars);
  const upper = decomposed.replace(accents, '').toUpperCase();
  // A capital sigma has two small forms. The accents of some letters appear only in lower case.
  return upper.toLowerCase().normalize('NFKD').replace(accents, '').replaceAll('ς', 'σ').normalize('NFC');
}

function cutLong(words: readonly string[]): readonly Word[] {
  const cut = words.some(({ length }) => length > maxWordChars)
    ? words.map((word) => word.slice(0, maxWordChars).replace(/[\ud800-\udbff]$/, ''))
    : words;
  return cut as readonly Word[];
}
