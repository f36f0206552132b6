// The import of records from a file: preview, mapping of fields, dry run, import with progress, and a report by row.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { serverOwned } from '../../core/attributes.ts';
import { formatCount } from '../../core/format.ts';
import { memberText } from '../../core/json-text.ts';
import { kinds, listPathOf } from '../../core/places.ts';
import { schemasOf } from '../../core/schemas.ts';
import { useApp } from '../../ui/app-context.ts';
import { BatchReport, type BatchReportProps } from '../../ui/batch-report.tsx';
import { useAttempt } from '../../ui/hooks.ts';
import { Button, FailureNote, Field, Progress } from '../../ui/parts.tsx';
import { say } from '../../ui/toast.tsx';
import type { TabProps } from '../area.ts';
import { dryRun, importDrafts, type ImportMode } from './import-records.ts';
import { MappingTable } from './mapping-table.tsx';
import { Preview } from './preview.tsx';
import {
  draftsOf,
  firstMapping,
  formatLabels,
  formatOf,
  maxBytes,
  parseSource,
  type FieldMapping,
  type Format,
  type Source,
} from './source.ts';

interface Loaded {
  readonly name: string;
  readonly text: string;
  readonly source: Source;
}

export function ImportPanel({ place, object }: TabProps): JSX.Element {
  const { api, service } = useApp();
  const [loaded, setLoaded] = useState<Loaded | undefined>(undefined);
  const [mapping, setMapping] = useState<readonly FieldMapping[]>([]);
  const [mode, setMode] = useState<ImportMode>('create');
  const [progress, setProgress] = useState<{ label: string; done: number; total: number } | undefined>(undefined);
  const [report, setReport] = useState<Omit<BatchReportProps, 'onClose'> | undefined>(undefined);
  const { error, isBusy, attempt } = useAttempt();
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const schema =
    object === undefined || !service.capabilities.has('schema') ? undefined : memberText(object.data, 'schema');
  const owned = serverOwned('record', '{}', service.capabilities);
  const drafts = useMemo(() => (loaded === undefined ? [] : draftsOf(loaded.source, mapping)), [loaded, mapping]);
  const read = (name: string, text: string, format: Format): void => {
    setReport(undefined);
    setLoaded(undefined);
    const source = parseSource(text, format);
    setLoaded({ name, text, source });
    setMapping(firstMapping(source, owned, schema));
  };
  const open = (file: File | undefined): Promise<void> =>
    attempt(async () => {
      if (file === undefined) return;
      if (file.size > maxBytes) throw new Error(`The file is larger than ${maxBytes / 1_000_000} MB. Split it.`);
      const text = await file.text();
      read(file.name, text, formatOf(file.name, text));
    });
  const begin = (label: string): { readonly signal: AbortSignal; readonly onProgress: (done: number) => void } => {
    running.current = new AbortController();
    setReport(undefined);
    const show = (done: number): void => setProgress({ label, done, total: drafts.length });
    show(0);
    return { signal: running.current.signal, onProgress: show };
  };
  const test = (): Promise<void> =>
    attempt(async () => {
      const options = begin('Checking');
      try {
        const schemas = await schemasOf(api, service, place, object);
        const refused = await dryRun(drafts, { schemas, ...options });
        const checked = schemas.length === 0 ? 'could be read; the collection has no schema' : 'passed the check';
        if (options.signal.aborted) say('The dry run was stopped.');
        else if (refused.length === 0) say(`All ${formatCount(drafts.length)} rows ${checked}.`);
        else setReport({ doneCount: drafts.length - refused.length, done: checked, failed: refused });
      } finally {
        setProgress(undefined);
      }
    });
  const store = (): Promise<void> =>
    attempt(async () => {
      const options = begin('Importing');
      try {
        const results = await importDrafts(
          api,
          listPathOf(place, kinds.record),
          { drafts, mode },
          { batchLimit: service.batchLimit, ...options },
        );
        const failed = results.filter(({ status }) => status !== 'done');
        if (failed.length > 0) setReport({ doneCount: results.length - failed.length, done: 'imported', failed });
        else say(`${formatCount(results.length)} records imported.`);
      } finally {
        setProgress(undefined);
      }
    });
  return (
    <section class="panel" aria-label="Import">
      <h2>Import</h2>
      <Field label="File" hint="JSON (an array), JSON lines, or CSV with the names of the columns in the first line.">
        {(attributes) => (
          <input
            {...attributes}
            type="file"
            accept=".json,.jsonl,.ndjson,.csv,.tsv,.txt"
            disabled={isBusy}
            onChange={(event) => void open(event.currentTarget.files?.[0])}
          />
        )}
      </Field>
      {loaded === undefined ? null : (
        <>
          <div class="row">
            <FormatField
              format={loaded.source.format}
              onChange={(format) => void attempt(() => read(loaded.name, loaded.text, format))}
            />
            <Field label="Records that exist already">
              {(attributes) => (
                <select
                  {...attributes}
                  value={mode}
                  onChange={(event) => setMode(event.currentTarget.value === 'replace' ? 'replace' : 'create')}
                >
                  <option value="create">stay as they are</option>
                  <option value="replace">are replaced</option>
                </select>
              )}
            </Field>
          </div>
          <p class="hint">
            Each field of the file becomes the attribute in its row. A field without an attribute is left out. The
            attribute id is the id of the record.
          </p>
          <MappingTable source={loaded.source} mapping={mapping} schema={schema} onChange={setMapping} />
          <Preview drafts={drafts} />
          <div class="actions">
            <Button disabled={isBusy || drafts.length === 0} onClick={test}>
              Dry run
            </Button>
            <Button class="primary" disabled={isBusy || drafts.length === 0} onClick={store}>
              Import {formatCount(drafts.length)} rows
            </Button>
            {progress === undefined ? null : <Button onClick={() => running.current?.abort()}>Stop</Button>}
          </div>
        </>
      )}
      {progress === undefined ? null : <Progress {...progress} />}
      <FailureNote error={error} />
      {report === undefined ? null : <BatchReport {...report} onClose={() => setReport(undefined)} />}
    </section>
  );
}

interface FormatFieldProps {
  readonly format: Format;
  readonly onChange: (format: Format) => void;
}

function FormatField({ format, onChange }: FormatFieldProps): JSX.Element {
  return (
    <Field label="Read the file as">
      {(attributes) => (
        <select
          {...attributes}
          value={format}
          onChange={({ currentTarget: { value } }) =>
            onChange(value === 'csv' ? 'csv' : value === 'jsonl' ? 'jsonl' : 'json')
          }
        >
          {(['json', 'jsonl', 'csv'] as const).map((each) => (
            <option key={each} value={each}>
              {formatLabels[each]}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
