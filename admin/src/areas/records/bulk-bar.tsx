// Actions on the selected records: edit an attribute, permissions, duplicate, delete. A report names each record that stayed
// as it was; these stay selected.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { runBatches, type BatchEntry } from '../../core/batch.ts';
import { formatCount } from '../../core/format.ts';
import { below, hashOf, kinds, listPathOf, type Place } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { BatchReport, type BatchReportProps } from '../../ui/batch-report.tsx';
import { ask } from '../../ui/dialog.tsx';
import { Button, Progress } from '../../ui/parts.tsx';
import { say } from '../../ui/toast.tsx';
import { askForField, askForPermission } from './bulk-dialogs.tsx';
import { deletionOf, fieldChangeOf, permissionChangeOf, type BulkRow } from './bulk.ts';

export interface BulkBarProps {
  readonly place: Place;
  /** The selected records. */
  readonly rows: readonly BulkRow[];
  /** Attributes to choose from. */
  readonly fields: readonly string[];
  /** Called after an action with the ids of the records that stayed as they were. */
  readonly onDone: (failed: ReadonlySet<string>) => void;
}

interface Job {
  readonly label: string;
  /** Past participle, such as `deleted`. */
  readonly done: string;
  readonly entryOf: (row: BulkRow) => BatchEntry;
}

export function BulkBar({ place, rows, fields, onDone }: BulkBarProps): JSX.Element {
  const { api, service } = useApp();
  const [progress, setProgress] = useState<{ readonly label: string; readonly done: number; readonly total: number }>();
  const [report, setReport] = useState<Omit<BatchReportProps, 'onClose'>>();
  const stop = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const path = listPathOf(place, kinds.record);
  const count = countOf(rows.length);
  const run = async ({ label, done, entryOf }: Job): Promise<void> => {
    const left = new AbortController();
    stop.current = left;
    setReport(undefined);
    setProgress({ label, done: 0, total: rows.length });
    const results = await runBatches(api, rows.map(entryOf), {
      batchLimit: service.batchLimit,
      signal: left.signal,
      onProgress: (sent) => setProgress({ label, done: sent, total: rows.length }),
    });
    setProgress(undefined);
    const failed = results.filter(({ status }) => status !== 'done');
    onDone(new Set(failed.map(({ name }) => name)));
    if (failed.length > 0) setReport({ doneCount: results.length - failed.length, done, failed });
    else say(`${countOf(results.length)} ${done}.`);
  };
  const remove = async (): Promise<void> => {
    const isSure = await ask({
      title: `Delete ${count}?`,
      text: 'This cannot be undone.',
      yes: 'Delete',
      no: 'Keep them',
    });
    if (isSure) await run({ label: 'Deleting', done: 'deleted', entryOf: (row) => deletionOf(path, row) });
  };
  const edit = async (): Promise<void> => {
    const change = await askForField(count, fields);
    if (change === undefined) return;
    await run({ label: 'Changing', done: 'changed', entryOf: (row) => fieldChangeOf(path, row, change) });
  };
  const permit = async (): Promise<void> => {
    const change = await askForPermission(count);
    if (change === undefined) return;
    await run({ label: 'Changing', done: 'changed', entryOf: (row) => permissionChangeOf(path, row, change) });
  };
  const [first] = rows;
  return (
    <>
      {rows.length === 0 || progress !== undefined ? null : (
        <div class="bulk" role="group" aria-label="Selected records">
          <span>{formatCount(rows.length)} selected</span>
          <Button class="small" onClick={edit}>
            Edit selected
          </Button>
          <Button class="small" onClick={permit}>
            Permissions of selected
          </Button>
          {rows.length !== 1 || first === undefined ? null : (
            <a class="button small" href={hashOf(place, { _tab: 'records', _new: '1', _copy: first.id })}>
              Duplicate
            </a>
          )}
          <Button class="small danger" onClick={remove}>
            Delete selected
          </Button>
        </div>
      )}
      {progress === undefined ? null : (
        <div class="bulk">
          <Progress {...progress} />
          <Button class="small" onClick={() => stop.current?.abort()}>
            Stop
          </Button>
        </div>
      )}
      {report === undefined ? null : (
        <BatchReport
          {...report}
          hrefOf={(id) => hashOf(below(place, kinds.record, id))}
          onClose={() => setReport(undefined)}
        />
      )}
    </>
  );
}

export function countOf(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'record' : 'records'}`;
}
