// Actions on the selected records: edit an attribute, permissions, duplicate, delete. A report names each record that stayed
// as it was; these stay selected.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { runBatches, type BatchEntry, type BatchResult } from '../../core/batch.ts';
import { sentenceOf } from '../../core/errors.ts';
import { formatCount } from '../../core/format.ts';
import { below, hashOf, kinds, listPathOf, type Place } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { BatchReport, type BatchReportProps } from '../../ui/batch-report.tsx';
import { ask } from '../../ui/dialog.tsx';
import { Button, Progress } from '../../ui/parts.tsx';
import { say, type ToastAction } from '../../ui/toast.tsx';
import { isUndoable, undoDeletion } from '../../ui/undo-deletion.ts';
import { askForField } from './field-dialog.tsx';
import { askForPermission } from './permission-dialog.tsx';
import { deletionOf, fieldChangeOf, permissionChangeOf, type BulkRow } from './bulk.ts';

export interface BulkBarProps {
  readonly place: Place;
  /** Whether the user may create records, and so duplicate one. */
  readonly mayCreate: boolean;
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
  /** What the message offers, for the ids of the records that were changed. */
  readonly actionsFor?: (ids: readonly string[]) => readonly ToastAction[];
}

export function BulkBar({ place, mayCreate, rows, fields, onDone }: BulkBarProps): JSX.Element {
  const app = useApp();
  const { api, service } = app;
  const [progress, setProgress] = useState<{ readonly label: string; readonly done: number; readonly total: number }>();
  const [report, setReport] = useState<Omit<BatchReportProps, 'onClose'>>();
  const stop = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const path = listPathOf(place, kinds.record);
  const count = countOf(rows.length);
  const run = async ({ label, done, entryOf, actionsFor }: Job): Promise<void> => {
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
    const ids = results.filter(({ status }) => status === 'done').map(({ name }) => name);
    const actions = ids.length === 0 ? [] : (actionsFor?.(ids) ?? []);
    if (failed.length === 0 || actions.length > 0) say(`${countOf(ids.length)} ${done}.`, actions);
  };
  const undo = async (ids: readonly string[]): Promise<void> => {
    const failedWith = (error: unknown): readonly BatchResult[] =>
      ids.map((name) => ({ name, status: 'open', code: 0, message: sentenceOf(error) }));
    const results = await undoDeletion(app, { parent: place, kind: kinds.record, ids }).catch(failedWith);
    const failed = results.filter(({ status }) => status !== 'done');
    onDone(new Set());
    if (failed.length > 0) setReport({ doneCount: results.length - failed.length, done: 'restored', failed });
    say(`${countOf(results.length - failed.length)} restored.`);
  };
  const isUndone = isUndoable(app, kinds.record);
  const remove = async (): Promise<void> => {
    const isSure = await ask({
      title: `Delete ${count}?`,
      text: isUndone ? 'They can be restored from the history of the collection.' : 'This cannot be undone.',
      yes: 'Delete',
      no: 'Keep them',
    });
    if (!isSure) return;
    await run({
      label: 'Deleting',
      done: 'deleted',
      entryOf: (row) => deletionOf(path, row),
      actionsFor: (ids) =>
        isUndone
          ? [
              { label: 'Undo', run: () => undo(ids) },
              { label: 'Show history', run: hashOf(place, { _tab: 'history', _action: 'delete' }) },
            ]
          : [],
    });
  };
  const edit = async (): Promise<void> => {
    const change = await askForField(count, fields);
    if (change === undefined) return;
    await run({ label: 'Changing', done: 'changed', entryOf: (row) => fieldChangeOf(path, row, change) });
  };
  const permit = async (): Promise<void> => {
    const change = await askForPermission({ app, place, count });
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
          {rows.length !== 1 || first === undefined || !mayCreate ? null : (
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
