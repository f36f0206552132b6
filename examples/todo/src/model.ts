// What the lists consist of, and how conflicting edits of an item are merged.
import type { Conflict } from '@coffer/tanstack-db';

/** A list: a collection of the service. */
export interface List {
  readonly id: string;
  title: string;
}

/** The group of a list, with the same id: principals that share it. */
export interface Group {
  readonly id: string;
  members: string[];
}

/** An item of a list. */
export interface Todo {
  readonly id: string;
  title: string;
  done: boolean;
  /** When the item was added, as ISO 8601 text. */
  readonly added: string;
  /** Titles that lost a conflict, until someone chooses. */
  otherTitles?: OtherTitle[];
  readonly last_modified?: number;
}

export interface OtherTitle {
  readonly title: string;
  /** Name of the user who wrote it. */
  readonly by: string;
}

/** Bucket of all lists. */
export const bucket = 'todo';
/** Maximum number of titles that wait for a choice. The oldest ones are dropped. */
const maxOtherTitles = 5;

/**
 * Returns how a conflict ends that an edit of this user is part of. Edits of different attributes are merged. If both sides
 * have changed the title, the one that the service has stays, and the item carries the other one until someone chooses.
 */
export function mergeAs(name: string): (conflict: Conflict<Todo>) => Todo | 'merge' {
  return ({ type, base, local, server }) => {
    const bothChanged = base?.title !== local?.title && base?.title !== server?.title && local?.title !== server?.title;
    if (type !== 'update' || base === undefined || local === undefined || server === undefined || !bothChanged) {
      return 'merge';
    }
    const done = local.done === base.done ? server.done : local.done;
    const otherTitles = [...(server.otherTitles ?? []), { title: local.title, by: name }].slice(-maxOtherTitles);
    return { ...server, done, otherTitles };
  };
}
