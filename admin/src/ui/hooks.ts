// Hooks that all areas share: loading, lists with live updates, unsaved work.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { displayText, memberText } from '../core/json-text.ts';
import { follow } from '../core/live.ts';
import { countObjects, loadPage, type Page } from '../core/objects.ts';
import { guard } from '../core/router.ts';
import { readDraft, writeDraft, type Draft } from '../core/storage.ts';
import { useApp } from './app-context.ts';
import { say } from './toast.tsx';

export interface Loaded<Value> {
  /** The last value; it stays while another is loaded. */
  readonly value: Value | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Loads a value, again whenever `key` changes. The signal aborts when the view is left or the key changes. */
export function useLoad<Value>(load: (signal: AbortSignal) => Promise<Value>, key: string): Loaded<Value> {
  const [state, setState] = useState<Omit<Loaded<Value>, 'reload'>>({
    value: undefined,
    error: undefined,
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  const loader = useRef(load);
  loader.current = load;
  useEffect(() => {
    const left = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    loader.current(left.signal).then(
      (value) => {
        if (!left.signal.aborted) setState({ value, error: undefined, isLoading: false });
      },
      (error: unknown) => {
        if (!left.signal.aborted) setState({ value: undefined, error, isLoading: false });
      },
    );
    return () => left.abort();
  }, [key, turn]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return { ...state, reload };
}

export interface LiveList {
  readonly page: Page | undefined;
  /** Number of all objects that match; `undefined` while it is unknown. */
  readonly total: number | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  /** Ids of objects that others have just changed. */
  readonly changed: ReadonlySet<string>;
  readonly refresh: () => void;
}

export interface ListRequest {
  readonly path: string;
  /** Filters, sorting and `_limit`. */
  readonly query: URLSearchParams;
  /** Query of a later page, as the service returned it; `''` is the first page. */
  readonly pageQuery: string;
  /** Whether the total is wanted, which takes a read of the whole list; default `true`. */
  readonly isCounted?: boolean;
}

const nothing: ReadonlySet<string> = new Set();

/** Loads one page of a list, with its total if wanted, and again after changes by others. */
export function useList({ path, query, pageQuery, isCounted = true }: ListRequest): LiveList {
  const { api, service } = useApp();
  const [list, setList] = useState<Omit<LiveList, 'refresh'>>({
    page: undefined,
    total: undefined,
    error: undefined,
    isLoading: true,
    changed: nothing,
  });
  const refresher = useRef<() => void>(() => {});
  const key = `${path}?${query.toString()}|${pageQuery}`;
  useEffect(() => {
    const left = new AbortController();
    const { signal } = left;
    const counted = new URLSearchParams(query);
    counted.delete('_limit');
    counted.delete('_sort');
    let shown: Page | undefined;
    const isCurrent = (): boolean => !signal.aborted;
    const refresh = async (): Promise<void> => {
      const page = await loadPage(api, path, pageQuery === '' ? query : pageQuery, signal);
      if (signal.aborted) return;
      const changed = shown === undefined ? nothing : changedIds(shown, page);
      shown = page;
      setList((before) => ({ ...before, page, error: undefined, isLoading: false, changed }));
      if (!isCounted) return;
      // After the list, because an error response to HEAD has no body with a message.
      const total = await countObjects(api, path, counted, signal);
      if (isCurrent()) setList((before) => ({ ...before, total }));
    };
    const attempt = async (): Promise<void> => {
      try {
        await refresh();
      } catch (error) {
        if (!signal.aborted) setList((before) => ({ ...before, error, isLoading: false }));
      }
    };
    refresher.current = () => void attempt();
    setList((before) => ({ ...before, isLoading: true, error: undefined, changed: nothing }));
    void attempt().then(() => {
      if (signal.aborted || shown === undefined) return;
      follow({ api, service, signal, say }, { path, filters: counted, etag: () => shown?.etag ?? '', refresh });
    });
    return () => left.abort();
  }, [api, service, key]);
  return { ...list, refresh: useCallback(() => refresher.current(), []) };
}

/** Returns the ids of rows that are new or newer. */
function changedIds(before: Page, now: Page): ReadonlySet<string> {
  const known = new Set(before.rows);
  const fresh = now.rows.filter((row) => !known.has(row));
  return new Set(fresh.map((row) => displayText(memberText(row, 'id') ?? '""')));
}

export interface Work {
  /** A draft of an earlier visit, that can be restored or discarded. */
  readonly draft: Draft | undefined;
  readonly discardDraft: () => void;
  /** Forgets draft and guard: the work is saved. */
  readonly finish: () => void;
}

/** Pause after the last key before a draft is stored. */
const draftMilliseconds = 400;

/**
 * Guards unsaved work. While `text` differs from `original`, leaving the view asks, and the text is stored as a draft under
 * `name`, which the next visit offers.
 */
export function useWork(
  name: string,
  { text, original, etag }: { text: string; original: string; etag: string },
): Work {
  const [draft, setDraft] = useState(() => readDraft(name));
  const latest = useRef({ text, original, etag, isDone: false });
  // Another version is edited: new work begins.
  const isSame = latest.current.etag === etag && latest.current.original === original;
  latest.current = { text, original, etag, isDone: isSame && latest.current.isDone };
  useEffect(() => guard(() => !latest.current.isDone && latest.current.text !== latest.current.original), []);
  const isDirty = text !== original;
  useEffect(() => {
    if (!isDirty) return;
    const timer = setTimeout(() => {
      if (!latest.current.isDone) writeDraft(name, { text, etag });
    }, draftMilliseconds);
    return () => clearTimeout(timer);
  }, [name, text, etag, isDirty]);
  // What was typed in the last moment before the view is left.
  useEffect(
    () => () => {
      const { text: last, original: first, isDone } = latest.current;
      if (!isDone && last !== first) writeDraft(name, { text: last, etag });
    },
    [name, etag],
  );
  const discardDraft = (): void => {
    writeDraft(name, undefined);
    setDraft(undefined);
  };
  const finish = (): void => {
    latest.current.isDone = true;
    discardDraft();
  };
  return { draft: draft !== undefined && draft.text !== text ? draft : undefined, discardDraft, finish };
}

/** Runs actions one at a time; failures stay in view until the next attempt. */
export function useAttempt(): {
  readonly error: unknown;
  readonly isBusy: boolean;
  readonly attempt: (run: () => unknown) => Promise<void>;
} {
  const [state, setState] = useState<{ readonly error: unknown; readonly isBusy: boolean }>({
    error: undefined,
    isBusy: false,
  });
  const isRunning = useRef(false);
  const attempt = async (run: () => unknown): Promise<void> => {
    if (isRunning.current) return;
    isRunning.current = true;
    setState({ error: undefined, isBusy: true });
    try {
      await run();
      setState({ error: undefined, isBusy: false });
    } catch (error) {
      setState({ error, isBusy: false });
    } finally {
      isRunning.current = false;
    }
  };
  return { ...state, attempt };
}
