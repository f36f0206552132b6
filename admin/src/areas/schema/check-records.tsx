// The dry run of a schema: checks all existing records against it, page by page, before it is saved.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { BatchResult } from '../../core/batch.ts';
import { formatCount } from '../../core/format.ts';
import { displayText, memberText } from '../../core/json-text.ts';
import { countObjects, loadPage } from '../../core/objects.ts';
import { below, hashOf, kinds, listPathOf, type Place } from '../../core/places.ts';
import { SchemaChecker } from '../../core/schema-check.ts';
import { useApp } from '../../ui/app-context.ts';
import { BatchReport } from '../../ui/batch-report.tsx';
import { useAttempt } from '../../ui/hooks.ts';
import { Button, FailureNote, Progress } from '../../ui/parts.tsx';

const pageSize = 200;
/** Number of refused records after which the check ends. */
const maxFaults = 1000;

interface Outcome {
  readonly checked: number;
  readonly failed: readonly BatchResult[];
  readonly isComplete: boolean;
}

export interface CheckRecordsProps {
  readonly place: Place;
  /** JSON text; an invalid one disables the check. */
  readonly schema: string;
  readonly isValid: boolean;
}

export function CheckRecords({ place, schema, isValid }: CheckRecordsProps): JSX.Element {
  const { api } = useApp();
  const [progress, setProgress] = useState<{ readonly done: number; readonly total: number } | undefined>(undefined);
  const [outcome, setOutcome] = useState<Outcome | undefined>(undefined);
  const { error, isBusy, attempt } = useAttempt();
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  // Another schema: the outcome is no longer true.
  useEffect(() => {
    running.current?.abort();
    setOutcome(undefined);
  }, [schema]);
  const check = (): Promise<void> =>
    attempt(async () => {
      const left = new AbortController();
      running.current = left;
      setOutcome(undefined);
      const { signal } = left;
      const path = listPathOf(place, kinds.record);
      const failed: BatchResult[] = [];
      let checked = 0;
      const checker = new SchemaChecker([schema]);
      try {
        const total = (await countObjects(api, path, new URLSearchParams(), signal)) ?? 0;
        let next: string | undefined = `_limit=${pageSize}`;
        while (next !== undefined && failed.length < maxFaults) {
          setProgress({ done: checked, total: Math.max(total, checked) });
          const page = await loadPage(api, path, next, signal);
          const faults = await checker.check(page.rows);
          failed.push(
            ...page.rows.flatMap((row, index) => {
              const fault = faults[index];
              return fault === undefined ? [] : [refusalOf(row, fault.description)];
            }),
          );
          checked += page.rows.length;
          ({ next } = page);
        }
        setOutcome({ checked, failed, isComplete: next === undefined });
      } catch (failure) {
        if (!signal.aborted) throw failure;
      } finally {
        checker.close();
        setProgress(undefined);
      }
    });
  return (
    <div class="check-records">
      <div class="actions">
        <Button disabled={isBusy || !isValid} onClick={check}>
          Check existing records
        </Button>
        {isBusy ? <Button onClick={() => running.current?.abort()}>Stop</Button> : null}
        <span class="quiet">Nothing is changed. The service checks records when they are written.</span>
      </div>
      {progress === undefined ? null : <Progress {...progress} label="Checking" />}
      <FailureNote error={error} />
      {outcome === undefined ? null : (
        <OutcomeNote place={place} outcome={outcome} onClose={() => setOutcome(undefined)} />
      )}
    </div>
  );
}

interface OutcomeNoteProps {
  readonly place: Place;
  readonly outcome: Outcome;
  readonly onClose: () => void;
}

function OutcomeNote({ place, outcome: { checked, failed, isComplete }, onClose }: OutcomeNoteProps): JSX.Element {
  const count = formatCount(checked);
  if (failed.length === 0) {
    return (
      <p class="note" role="status">
        All {count} records pass.
      </p>
    );
  }
  return (
    <BatchReport
      doneCount={checked - failed.length}
      done={isComplete ? 'pass' : `of the first ${count} pass`}
      failed={failed}
      hrefOf={(id) => hashOf(below(place, kinds.record, id))}
      onClose={onClose}
    />
  );
}

function refusalOf(row: string, message: string): BatchResult {
  return { name: displayText(memberText(row, 'id') ?? '""'), status: 'refused', code: 0, message };
}
