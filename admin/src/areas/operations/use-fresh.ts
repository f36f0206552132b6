// Loads a value again and again while the view is visible. After a failure the last value stays, until the service responds.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { poll } from '../../core/live.ts';
import { useApp } from '../../ui/app-context.ts';
import { say } from '../../ui/toast.tsx';

export interface Fresh<Value> {
  /** The last value. */
  readonly value: Value | undefined;
  /** Why the last attempt failed. */
  readonly error: unknown;
  /** When the value was loaded, in milliseconds. */
  readonly loadedAt: number | undefined;
  readonly reload: () => void;
}

/** Pause between two requests. */
const freshMilliseconds = 10_000;

/**
 * Loads a value at once, whenever `key` changes, and every ten seconds while the tab is visible; more often where `pauseOf`
 * returns another pause in milliseconds for the last value.
 */
export function useFresh<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  key: string,
  pauseOf: (value: Value | undefined) => number | undefined = () => undefined,
): Fresh<Value> {
  const { api } = useApp();
  const [state, setState] = useState<Omit<Fresh<Value>, 'reload'>>({
    value: undefined,
    error: undefined,
    loadedAt: undefined,
  });
  const loader = useRef(load);
  loader.current = load;
  const look = useRef<() => Promise<void>>(() => Promise.resolve());
  useEffect(() => {
    const left = new AbortController();
    look.current = async () => {
      try {
        const value = await loader.current(left.signal);
        if (!left.signal.aborted) setState({ value, error: undefined, loadedAt: Date.now() });
      } catch (error) {
        if (!left.signal.aborted) setState((before) => ({ ...before, error }));
      }
    };
    // The value of another key is not shown.
    setState({ value: undefined, error: undefined, loadedAt: undefined });
    void look.current();
    return () => left.abort();
  }, [api, key]);
  const pause = pauseOf(state.value) ?? freshMilliseconds;
  useEffect(() => {
    const left = new AbortController();
    poll({ api, signal: left.signal, say }, () => look.current(), pause);
    return () => left.abort();
  }, [api, pause]);
  return { ...state, reload: useCallback(() => void look.current(), []) };
}
