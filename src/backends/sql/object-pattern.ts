// Object ids as the tables store them, split into folder and name, and patterns of object ids: `*` matches any text, every
// other character itself.
import { folderOf, parsePattern } from '../../core/permissions/object-pattern.ts';
import { rangeOfPrefix, type TextRange } from './text-range.ts';

export interface SplitObjectId {
  /** Up to and including the last slash; `''` without a slash. */
  readonly folder: string;
  readonly name: string;
}

/** Splits an object id into its folder and its name there. */
export function splitObjectId(objectId: string): SplitObjectId {
  const folder = folderOf(objectId);
  return { folder, name: objectId.slice(folder.length) };
}

export interface ObjectPattern {
  /** The one folder of all matching ids; `undefined` when they may lie in several. */
  readonly folder: string | undefined;
  /** The one name of all matching ids in it; `undefined` when they may have several. */
  readonly name: string | undefined;
  /** Range of the folders of all matching ids. */
  readonly folders: TextRange;
  matches(objectId: string): boolean;
}

/**
 * Compiles a pattern.
 *
 * @param withChildren `false`: `*` matches text without `/`
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
