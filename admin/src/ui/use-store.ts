// The hook that follows a store.
import { useEffect, useState } from 'preact/hooks';
import type { Store } from '../core/store.ts';

/** Returns the value of a store, and renders again when it changes. */
export function useStore<Value>(store: Store<Value>): Value {
  const [value, setValue] = useState(store.get());
  useEffect(() => {
    const update = (): void => setValue(() => store.get());
    update();
    return store.subscribe(update);
  }, [store]);
  return value;
}
