// Hooks that connect views with collections of TanStack DB.
import { createLiveQueryCollection, type Collection } from '@tanstack/db';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Todo } from './model.ts';
import type { Rows } from './store.ts';

/** Returns the rows of a collection, and draws again when they change. */
export function useRows<T extends object>(
  collection: Pick<Collection<T>, 'subscribeChanges' | 'toArray'>,
): readonly T[] {
  const [, setVersion] = useState({});
  useEffect(() => {
    const subscription = collection.subscribeChanges(() => setVersion({}), { includeInitialState: true });
    return () => subscription.unsubscribe();
  }, [collection]);
  return collection.toArray;
}

/** A row, and whether the service has it as it is shown. */
export type Shown<T> = T & { readonly $synced: boolean };

/** Returns the items of a list in the order in which they were added. */
export function useTodos(todos: Rows<Todo>): readonly Shown<Todo>[] {
  const query = useMemo(
    () => createLiveQueryCollection((q) => q.from({ todo: todos }).orderBy(({ todo }) => todo.added)),
    [todos],
  );
  return useRows(query as never);
}

/** Returns whether the browser has a network. */
export function useOnline(): boolean {
  const [isOnline, setOnline] = useState(navigator.onLine);
  useEffect(() => {
    const update = (): void => setOnline(navigator.onLine);
    addEventListener('online', update);
    addEventListener('offline', update);
    return () => {
      removeEventListener('online', update);
      removeEventListener('offline', update);
    };
  }, []);
  return isOnline;
}
