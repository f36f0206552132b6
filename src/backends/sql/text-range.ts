// Prefixes as ranges. Text is ordered by its UTF-8 bytes, so texts with a common prefix are adjacent and an index finds
// them. `LIKE` would treat the underscores of ids as wildcards.
import type { ObjectUri } from '../../core/objects/uris.ts';

/** `low` is included, `high` is not; `high` is `undefined` when the range has no upper end. */
export interface TextRange {
  readonly low: string;
  readonly high: string | undefined;
}

/** Returns the range of everything below the URI (`<uri>/…`), without neighbours with a similar name. */
export function rangeBelow(uri: ObjectUri): { readonly low: string; readonly high: string } {
  // "0" is the character after "/".
  return { low: `${uri}/`, high: `${uri}0` };
}

/** Returns the range of all texts that start with the prefix. */
export function rangeOfPrefix(prefix: string): TextRange {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!);
  while (points.length > 0) {
    const last = points.pop()!;
    if (last === 0x10ffff) continue;
    // The code points of surrogates are not characters.
    points.push(last === 0xd7ff ? 0xe000 : last + 1);
    return { low: prefix, high: String.fromCodePoint(...points) };
  }
  return { low: prefix, high: undefined };
}
