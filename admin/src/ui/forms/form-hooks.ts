// Hooks of forms whose rows are added, removed and moved, and of fields whose text is more than their value.
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface RowKeys {
  /** A key for each row. It stays with its row when others are removed or moved. */
  readonly keys: readonly number[];
  readonly remove: (index: number) => void;
  readonly moveUp: (index: number) => void;
}

/** Gives the rows of a form keys that stay with them. Call `remove` and `moveUp` before the rows change in the same way. */
export function useRowKeys(count: number): RowKeys {
  const state = useRef<{ readonly keys: number[]; next: number }>({ keys: [], next: 0 });
  const { keys } = state.current;
  while (keys.length < count) {
    keys.push(state.current.next);
    state.current.next += 1;
  }
  keys.length = count;
  return {
    keys,
    remove: (index) => void keys.splice(index, 1),
    moveUp: (index) => void keys.splice(index - 1, 0, ...keys.splice(index, 1)),
  };
}

/**
 * Moves the focus to the first control of a row that the user has added. Rows are children of the class `element`; call
 * `markAdded` before the row appears.
 */
export function useAddedFocus<List extends HTMLElement>(
  count: number,
): { readonly list: RefObject<List | null>; readonly markAdded: () => void } {
  const list = useRef<List>(null);
  const isAdded = useRef(false);
  useLayoutEffect(() => {
    if (isAdded.current) {
      const added = [...(list.current?.children ?? [])].findLast((child) => child.matches('.element'));
      added?.querySelector<HTMLElement>('input, select, textarea')?.focus();
    }
    isAdded.current = false;
  }, [count]);
  return {
    list,
    markAdded: () => {
      isAdded.current = true;
    },
  };
}

export interface TypedOptions {
  /** The value as it is stored. */
  readonly value: string;
  /** Returns the value that a typed text stands for. */
  readonly valueOf: (typed: string) => string;
  /** Returns the text to begin with. */
  readonly textOf: (value: string) => string;
}

/** Keeps what the user types, such as a line that is not complete; a value from elsewhere replaces it. */
export function useTyped({ value, valueOf, textOf }: TypedOptions): [string, (typed: string) => void] {
  const [typed, setTyped] = useState(() => textOf(value));
  useLayoutEffect(() => {
    if (valueOf(typed) !== value) setTyped(textOf(value));
  }, [value]);
  return [typed, setTyped];
}
