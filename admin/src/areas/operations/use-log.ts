// The loaded lines of the log: the newest page, older pages on request, and new lines while they are followed.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Api } from '../../core/api.ts';
import { poll } from '../../core/live.ts';
import { useApp } from '../../ui/app-context.ts';
import { say } from '../../ui/toast.tsx';
import { mergeLines, readLines, type LogLine } from './log-lines.ts';

export interface Log {
  /** Newest first. */
  readonly lines: readonly LogLine[];
  readonly isLoading: boolean;
  /** Why the last request failed. */
  readonly error: unknown;
  readonly hasOlder: boolean;
  readonly loadOlder: () => Promise<void>;
  readonly reload: () => void;
}

interface LogPage {
  readonly lines: readonly LogLine[];
  /** Query of the page with older lines. */
  readonly next: string | undefined;
}

const pageSize = 200;
/** Maximum number of lines in one response. */
const responseLimit = 1000;
/** Maximum number of loaded lines. */
const lineLimit = 4000;
/** Pause between two requests for new lines. */
const followMilliseconds = 3000;
/** New lines are requested from this long before the newest one, because processes write at the same time. */
const overlapMilliseconds = 2000;

const none: LogPage = { lines: [], next: undefined };

/** Loads lines of a level and above, and new ones every few seconds while `isFollowing` and the tab is visible. */
export function useLog(level: string, isFollowing: boolean): Log {
  const { api } = useApp();
  const [log, setLog] = useState<LogPage>(none);
  const [isLoading, setLoading] = useState(true);
  const [error, setError] = useState<unknown>(undefined);
  const [turn, setTurn] = useState(0);
  const latest = useRef(log);
  const show = (page: LogPage): void => {
    latest.current = page;
    setLog(page);
    setLoading(false);
    setError(undefined);
  };
  /** Shows what `load` returns, or its failure, unless the view is another one by then. */
  const attempt = async (load: (signal: AbortSignal) => Promise<LogPage>, signal: AbortSignal): Promise<void> => {
    try {
      const page = await load(signal);
      if (!signal.aborted) show(page);
    } catch (failure) {
      if (signal.aborted) return;
      setLoading(false);
      setError(failure);
    }
  };
  const loadNewest = (signal: AbortSignal): Promise<LogPage> =>
    loadLines(api, pageQuery({ level, _limit: pageSize }), signal);
  // Lines of another level are not shown.
  useEffect(() => setLog(none), [level]);
  useEffect(() => {
    const left = new AbortController();
    latest.current = none;
    setLoading(true);
    void attempt(loadNewest, left.signal);
    return () => left.abort();
  }, [api, level, turn]);
  useEffect(() => {
    if (!isFollowing) return;
    const left = new AbortController();
    const loadNew = async (signal: AbortSignal): Promise<LogPage> => {
      const [newest] = latest.current.lines;
      if (newest === undefined) return loadNewest(signal);
      const since = Math.max(newest.time - overlapMilliseconds, 0);
      const page = await loadLines(api, pageQuery({ level, _since: since, _limit: responseLimit }), signal);
      // More lines than one response has: the lines before are too old to connect to.
      if (page.next !== undefined) return page;
      const { lines, next } = latest.current;
      const merged = mergeLines(page.lines, lines);
      return merged.length > lineLimit
        ? { lines: merged.slice(0, lineLimit), next: undefined }
        : { lines: merged, next };
    };
    poll({ api, signal: left.signal, say }, () => attempt(loadNew, left.signal), followMilliseconds);
    return () => left.abort();
  }, [api, level, turn, isFollowing]);
  const loadOlder = async (): Promise<void> => {
    const { next } = latest.current;
    if (next === undefined) return;
    try {
      const page = await loadLines(api, next);
      // Another level or newer lines may have been loaded in the meantime.
      if (latest.current.next === next) show({ lines: mergeLines(latest.current.lines, page.lines), next: page.next });
    } catch (failure) {
      setError(failure);
    }
  };
  return {
    lines: log.lines,
    isLoading,
    error,
    hasOlder: log.next !== undefined && log.lines.length < lineLimit,
    loadOlder,
    reload: useCallback(() => setTurn((before) => before + 1), []),
  };
}

function pageQuery(parameters: Readonly<Record<string, string | number>>): string {
  return new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)])).toString();
}

async function loadLines(api: Api, query: string, signal?: AbortSignal): Promise<LogPage> {
  const { text, headers } = await api.request('GET', 'operations/log', {
    query,
    ...(signal === undefined ? {} : { signal }),
  });
  const next = headers.get('Next-Page');
  return { lines: readLines(text), next: next === null ? undefined : new URL(next, document.baseURI).search };
}
