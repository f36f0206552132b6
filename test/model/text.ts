// Text search, `_q`: which records have the words, and how well. Written for the model alone, as plainly as possible.
import { isList, isMap, member, valueAt, type Json, type JsonMap } from './json.ts';

interface Term {
  readonly words: readonly string[];
  /** Whether the last word may be longer in the record. */
  readonly isOpen: boolean;
  readonly isExcluded: boolean;
}

/** The terms of a query; `undefined` when it is not acceptable. */
export function readTerms(text: string): readonly Term[] | undefined {
  const terms: Term[] = [];
  for (const [, before, quoted, star, sign, plain = ''] of text.matchAll(/(-?)"([^"]*)"?(\*?)|(-?)([^\s"]+)/g)) {
    const words = wordsOf(quoted ?? plain);
    const last = words.at(-1);
    if (last === undefined) continue;
    const isOpen = (quoted === undefined ? plain.endsWith('*') : star === '*') && !/\p{Script=Han}/u.test(last);
    if (isOpen && last.length < 2) return undefined;
    terms.push({ words, isOpen, isExcluded: (before ?? sign) === '-' });
  }
  return terms.some(({ isExcluded }) => !isExcluded) ? terms : undefined;
}

/** Runs of letters and digits, without case and accents; a Chinese letter is a word. */
function wordsOf(text: string): readonly string[] {
  const plain = text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toUpperCase()
    .toLowerCase();
  return plain.match(/\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{N}\p{M}])+/gu) ?? [];
}

/** The fields of the index of words that a collection declares. */
export function searchedFields(indexes: Json | undefined): readonly string[] | undefined {
  const found = isList(indexes) ? indexes.find((item) => isMap(item) && member(item, 'text') !== undefined) : undefined;
  return isMap(found) ? (member(found, 'text') as readonly string[]) : undefined;
}

/** Returns how well a record matches; `undefined` when it does not. */
export function scoreOf(map: JsonMap, terms: readonly Term[], fields: readonly string[]): number | undefined {
  const texts = fields.flatMap((name, place) => {
    const value = valueAt(map, name);
    const all = isList(value) ? value : [value];
    return all.filter((each) => typeof each === 'string').map((each) => ({ place, words: wordsOf(each) }));
  });
  let sum = 0;
  for (const term of terms) {
    let own = 0;
    for (const { place, words } of texts) {
      const times = words.filter((_, start) => isAt(words, start, term)).length;
      if (times > 0) own += times / (times + 1 + words.length / 50) / (place + 1);
    }
    if (term.isExcluded ? own > 0 : own === 0) return undefined;
    sum += own;
  }
  return Math.round(sum * 1e6) / 1e6;
}

function isAt(words: readonly string[], start: number, { words: wanted, isOpen }: Term): boolean {
  return wanted.every((word, at) => {
    const found = words[start + at];
    return found === word || (isOpen && at === wanted.length - 1 && found?.startsWith(word) === true);
  });
}
