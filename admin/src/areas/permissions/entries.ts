// The permission entries that are edited: principals by permission, as text for drafts and comparisons.
import type { Permissions } from '../../core/objects.ts';

export type Entries = Readonly<Record<string, readonly string[]>>;

/** Returns the entries of all permissions that the kind has. */
export function entriesOf(names: readonly string[], permissions: Permissions): Entries {
  return Object.fromEntries(names.map((name) => [name, permissions.get(name) ?? []]));
}

/** Returns all principals of the entries, in their order. */
export function principalsOf(entries: Entries): readonly string[] {
  return [...new Set(Object.values(entries).flat())];
}

/** Returns the entries with a principal added to, or removed from, a permission. */
export function withEntry(entries: Entries, name: string, principal: string, isGiven: boolean): Entries {
  const others = (entries[name] ?? []).filter((each) => each !== principal);
  return { ...entries, [name]: isGiven ? [...others, principal] : others };
}

/** Returns whether both have the same principals for each permission; their order does not matter. */
export function keyOf(entries: Entries): string {
  return JSON.stringify(Object.entries(entries).map(([name, principals]) => [name, principals.toSorted()]));
}

/** Returns the entries as text with one principal on each line, for the view of differences. */
export function describeEntries(entries: Entries): string {
  return Object.entries(entries)
    .map(([name, principals]) => `${name}:\n${principals.map((principal) => `  ${principal}\n`).join('')}`)
    .join('');
}

/** Returns the entries of a draft; those of `fallback` where the draft is damaged. */
export function readEntries(draft: string, fallback: Entries): Entries {
  try {
    const known = new Map(JSON.parse(draft) as [string, unknown][]);
    return Object.fromEntries(
      Object.entries(fallback).map(([name, principals]) => {
        const value = known.get(name);
        return [name, isTexts(value) ? value : principals];
      }),
    );
  } catch {
    // Other code wrote an invalid draft.
    return fallback;
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
