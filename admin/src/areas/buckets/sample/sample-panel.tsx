// Buttons that load the sample data and remove it again, with progress and a report.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { hashOf } from '../../../core/places.ts';
import { navigate } from '../../../core/router.ts';
import { announceTreeChange, useApp } from '../../../ui/app-context.ts';
import { BatchReport, type BatchReportProps } from '../../../ui/batch-report.tsx';
import { ask } from '../../../ui/dialog.tsx';
import { useAttempt } from '../../../ui/hooks.ts';
import { Button, FailureNote, Progress } from '../../../ui/parts.tsx';
import { say } from '../../../ui/toast.tsx';
import { loadSample, removeSample, type SampleOptions } from './load.ts';
import { samplePlace } from './objects.ts';

export interface SamplePanelProps {
  /** Whether the bucket is there, so that the data can be removed. */
  readonly isLoaded: boolean;
  readonly children?: ComponentChildren;
}

export function SamplePanel({ isLoaded, children }: SamplePanelProps): JSX.Element {
  const app = useApp();
  const [progress, setProgress] = useState<{ label: string; done: number; total: number } | undefined>(undefined);
  const [report, setReport] = useState<Omit<BatchReportProps, 'onClose'> | undefined>(undefined);
  const { error, isBusy, attempt } = useAttempt();
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  /** Runs an action with progress. Views of the tree follow it, also when it fails halfway. */
  const run = async <Result,>(label: string, act: (options: SampleOptions) => Promise<Result>): Promise<Result> => {
    const left = new AbortController();
    running.current = left;
    setReport(undefined);
    try {
      return await act({
        signal: left.signal,
        onTotal: (total) => setProgress({ label, done: 0, total }),
        onProgress: (done) => setProgress((before) => (before === undefined ? before : { ...before, done })),
      });
    } finally {
      setProgress(undefined);
      announceTreeChange();
    }
  };
  const load = (): Promise<void> =>
    attempt(async () => {
      let total = 0;
      const failed = await run('Loading', (options) =>
        loadSample(app, {
          ...options,
          onTotal: (count) => {
            total = count;
            options.onTotal(count);
          },
        }),
      );
      if (running.current?.signal.aborted === true) return;
      if (failed.length > 0) {
        setReport({ doneCount: total - failed.length, done: 'done', failed });
        return;
      }
      navigate(hashOf(samplePlace));
      say('The sample data is loaded.');
    });
  const remove = (): Promise<void> =>
    attempt(async () => {
      const isSure = await ask({
        title: 'Remove the sample data?',
        text: 'All objects that were loaded are deleted, with the changes that you made to them. Objects that you added stay.',
        yes: 'Remove',
        no: 'Keep it',
      });
      if (!isSure) return;
      const { failed, isKept } = await run('Removing', (options) => removeSample(app, options));
      if (running.current?.signal.aborted === true) return;
      if (failed.length > 0) {
        setReport({ doneCount: 0, done: 'removed', failed });
        return;
      }
      navigate(isKept ? hashOf(samplePlace, { _tab: 'collections' }) : '#/');
      say(isKept ? 'The sample data is removed. What you added stays.' : 'The sample data is removed.');
    });
  return (
    <div class="sample">
      <p>
        The sample data is a small library with about 200 records: books, authors and tasks, with schemas, indexes, a
        group, permissions and some history. It is in the bucket <code>sample</code>, and can be removed again.
      </p>
      <div class="actions">
        <Button class={isLoaded ? '' : 'primary'} disabled={isBusy} onClick={load}>
          {isLoaded ? 'Load what is missing' : 'Load the sample data'}
        </Button>
        {isLoaded ? (
          <Button class="danger" disabled={isBusy} onClick={remove}>
            Remove the sample data
          </Button>
        ) : null}
        {children}
      </div>
      {progress === undefined ? null : <Progress {...progress} />}
      <FailureNote error={error} />
      {report === undefined ? null : <BatchReport {...report} onClose={() => setReport(undefined)} />}
    </div>
  );
}
