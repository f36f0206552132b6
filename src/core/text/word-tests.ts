// Tests of the words of an object, which backends keep as one text: spaces separate and enclose them.

/** Returns what the words of an object have to contain. */
export function partsOf(words: readonly string[], prefixes: readonly string[]): readonly string[] {
  return [...words.map((word) => ` ${word} `), ...prefixes.map((prefix) => ` ${prefix}`)];
}

/** Whether the words contain all of the parts. */
export function hasAll(own: string, parts: readonly string[]): boolean {
  return parts.every((part) => own.includes(part));
}

/** Orders words by length: long ones are rare. */
export const longestFirst = (a: string, b: string): number => b.length - a.length;

/** Work of reading an object (`QueryBudget`). */
export const workOfObject = 1000;
