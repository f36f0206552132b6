// Parses the pattern of `like`: `*` matches any text.
import { foldCase } from './fold-case.ts';

/** Returns the parts of a pattern, as `like` has them in the AST. A text without `*` is found anywhere. */
export function likeParts(pattern: string): readonly string[] {
  const folded = foldCase(pattern);
  // Several `*` in a row are one, since backends may take long for empty parts.
  return folded.includes('*') ? folded.split(/\*+/) : ['', folded, ''];
}
