// Object ids as the tables keep them, a folder and a name in it, and patterns of object ids in which `*` stands for any
// text, everything else for itself.
import { rangeOfPrefix, type TextRange } from './text-range.ts';

export interface SplitObjectId {
  /** Up to and including the last slash; `''` when there is none. */
  readonly folder: string;
  readonly name: string;
}

/** The folder of an object id and its name there. */
export function splitObjectId(objectId: string): SplitObjectId {
  const end = objectId.lastIndexOf('/') + 1;
  return { folder: objectId.slice(0, end), name: objectId.slice(end) };
}

export interface ObjectPattern {
  /** All matching ids lie in this one folder; `undefined` when they may lie in several. */
  readonly folder: string | undefined;
  /** The one name all matching ids have in it; `undefined` when they may have several. */
  readonly name: string | undefined;
  /** Where the folders of all matching ids are found. */
  readonly folders: TextRange;
  matches(objectId: string): boolean;
}

/**
 * Compiles a pattern.
 *
 * @param withChildren `false`: `*` stands for text without `/`
 */
export function compilePattern(pattern: string, withChildren: boolean): ObjectPattern {
  const star = pattern.indexOf('*');
  const literal = splitObjectId(star < 0 ? pattern : pattern.slice(0, star));
  const inOneFolder = star < 0 || (!withChildren && !pattern.includes('/', star));
  const parts = pattern.split('*');
  const segments = pattern.split('/').map((segment) => segment.split('*'));
  return {
    folder: inOneFolder ? literal.folder : undefined,
    name: star < 0 ? literal.name : undefined,
    folders: rangeOfPrefix(literal.folder),
    matches(objectId) {
      if (withChildren) return matchesParts(objectId, parts);
      const texts = objectId.split('/');
      return texts.length === segments.length && texts.every((text, index) => matchesParts(text, segments[index]!));
    },
  };
}

/** Whether the text starts with the first part, ends with the last, and holds those between in order. */
function matchesParts(text: string, parts: readonly string[]): boolean {
  const first = parts[0]!;
  const last = parts.at(-1)!;
  if (parts.length === 1) return text === first;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
