// Object ids as the tables keep them, a folder and a name in it, and patterns of object ids in which `*` stands for any
// text, everything else for itself.
import { folderOf, parsePattern } from '../../core/permissions/object-pattern.ts';
import { rangeOfPrefix, type TextRange } from './text-range.ts';

export interface SplitObjectId {
  /** Up to and including the last slash; `''` when there is none. */
  readonly folder: string;
  readonly name: string;
}

/** The folder of an object id and its name there. */
export function splitObjectId(objectId: string): SplitObjectId {
  const folder = folderOf(objectId);
  return { folder, name: objectId.slice(folder.length) };
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
  const parsed = parsePattern(pattern, withChildren);
  const { folder, flat } = parsed;
  return {
    folder: flat ? folder : undefined,
    name: pattern.includes('*') ? undefined : pattern.slice(folder.length),
    folders: rangeOfPrefix(folder),
    matches: (objectId) => parsed.matches(objectId),
  };
}
