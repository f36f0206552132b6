// A three-way merge of two versions of an object by their members: what each side has changed since a common base.
import { indentJson, membersOf } from './json-text.ts';

/** A member that at least one side has changed. Values are JSON texts; `undefined` where the object lacks the member. */
export interface MergeField {
  readonly key: string;
  readonly base: string | undefined;
  readonly mine: string | undefined;
  readonly theirs: string | undefined;
  /** Side that alone has changed the member, or `both` when the values are equal; `undefined` is a conflict. */
  readonly side: MergeSide | 'both' | undefined;
}

export type MergeSide = 'mine' | 'theirs';

/** Returns the members that differ between the versions, in the order of theirs and then mine. */
export function mergeFields(base: string, mine: string, theirs: string): readonly MergeField[] {
  const [inBase, inMine, inTheirs] = [valuesOf(base), valuesOf(mine), valuesOf(theirs)];
  const keys = new Set([...inTheirs.keys(), ...inMine.keys(), ...inBase.keys()]);
  return [...keys].flatMap((key) => {
    const values = { base: inBase.get(key), mine: inMine.get(key), theirs: inTheirs.get(key) };
    const isMine = isChanged(values.base, values.mine);
    const isTheirs = isChanged(values.base, values.theirs);
    if (!isMine && !isTheirs) return [];
    const isSame = !isChanged(values.mine, values.theirs);
    const side = isSame ? 'both' : isMine && isTheirs ? undefined : isMine ? 'mine' : 'theirs';
    return [{ key, ...values, side }];
  });
}

/** Returns theirs with the members that are chosen from mine. */
export function mergedText(mine: string, theirs: string, fromMine: ReadonlySet<string>): string {
  const [inMine, inTheirs] = [valuesOf(mine), valuesOf(theirs)];
  const keys = new Set([...inTheirs.keys(), ...inMine.keys()]);
  const parts = [...keys].flatMap((key) => {
    const value = (fromMine.has(key) ? inMine : inTheirs).get(key);
    return value === undefined ? [] : [`${JSON.stringify(key)}:${value}`];
  });
  return `{${parts.join(',')}}`;
}

function valuesOf(text: string): ReadonlyMap<string, string> {
  return new Map(membersOf(text).map(({ key, text: value }) => [key, value]));
}

function isChanged(before: string | undefined, after: string | undefined): boolean {
  if (before === undefined || after === undefined) return before !== after;
  return before !== after && indentJson(before) !== indentJson(after);
}
