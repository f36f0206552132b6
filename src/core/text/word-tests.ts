// Tests of the words of an object, which backends keep as one text: spaces separate and enclose them.

/** Returns what the words of an object have to contain. */
export function partsOf(words: readonly string[], prefixes: readonly string[]): readonly string[] {
  return [...words.map((word) => ` ${word} `), ...prefixes.map((prefix) => ` ${prefix}`)];
}

/** Whether the words contain all of the parts. */
export function hasAll(own: string, parts: readonly string[]): boolean {
  return parts.every((part) => own.includes(part));
}

/** Returns the first one, in their order as texts, of the words with the prefix. */
export function firstWith(own: string, prefix: string): string | undefined {
  let first: string | undefined;
  for (const word of own.split(' ')) {
    if (word.startsWith(prefix) && (first === undefined || word < first)) first = word;
  }
  return first;
}

/** Work of reading an object, and of dividing a character of the words of an object (`QueryBudget`). */
export const workOfObject = 1000;
export const workOfSplitting = 10;
