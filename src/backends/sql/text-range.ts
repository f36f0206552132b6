// Prefixes as ranges. Text is ordered by its UTF-8 bytes, so all texts with a prefix stand together and an index finds
// them; `LIKE` would take the underscores of ids for wildcards.

/** `low` is included, `high` is not; `high` is `undefined` when nothing lies above. */
export interface TextRange {
  readonly low: string;
  readonly high: string | undefined;
}

/** Everything below the URI: `<uri>/…`, and nothing of a neighbour. */
export function rangeBelow(uri: string): { readonly low: string; readonly high: string } {
  // "0" is the character after "/".
  return { low: `${uri}/`, high: `${uri}0` };
}

/** Every text that starts with the prefix. */
export function rangeOfPrefix(prefix: string): TextRange {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!);
  while (points.length > 0) {
    const last = points.pop()!;
    if (last === 0x10ffff) continue;
    // The code points of surrogates are no characters.
    points.push(last === 0xd7ff ? 0xe000 : last + 1);
    return { low: prefix, high: String.fromCodePoint(...points) };
  }
  return { low: prefix, high: undefined };
}
