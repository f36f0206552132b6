// The export of the records that match the filters of the address.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { formatCount } from '../../core/format.ts';
import { describeFilter, filtersOf, listParameters } from '../../core/list-query.ts';
import { countObjects } from '../../core/objects.ts';
import { hashOf, kinds, listPathOf } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { useAttempt, useLoad } from '../../ui/hooks.ts';
import { Button, FailureNote, Field, Progress } from '../../ui/parts.tsx';
import { say } from '../../ui/toast.tsx';
import type { TabProps } from '../area.ts';
import { readRecords } from './export-records.ts';
import { formatRecords, mediaTypes } from './format-records.ts';
import { formatLabels, type Format } from './source.ts';

const formats: readonly Format[] = ['json', 'jsonl', 'csv'];

export function ExportPanel({ place, id, query }: TabProps): JSX.Element {
  const { api } = useApp();
  const [format, setFormat] = useState<Format>('json');
  const [count, setCount] = useState<number | undefined>(undefined);
  const { error, isBusy, attempt } = useAttempt();
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const path = listPathOf(place, kinds.record);
  const parameters = listParameters(query);
  const counted = new URLSearchParams(parameters);
  counted.delete('_sort');
  const { value: total } = useLoad(
    (signal) => countObjects(api, path, counted, signal),
    `${path}?${counted.toString()}`,
  );
  const words = query.get('_q');
  const conditions = [
    ...(words === null ? [] : [`the texts match ${words}`]),
    ...filtersOf(query).map(([key, value]) => describeFilter(key, value)),
  ];
  const run = (): Promise<void> =>
    attempt(async () => {
      const left = new AbortController();
      running.current = left;
      setCount(0);
      try {
        const rows = await readRecords(api, path, { query: parameters, signal: left.signal, onProgress: setCount });
        download(`${id}.${format}`, formatRecords(rows, format), mediaTypes[format]);
        say(`${formatCount(rows.length)} ${rows.length === 1 ? 'record' : 'records'} exported.`);
      } catch (failure) {
        if (!left.signal.aborted) throw failure;
        say('The export was stopped.');
      } finally {
        setCount(undefined);
      }
    });
  return (
    <section class="panel" aria-label="Export">
      <h2>Export</h2>
      <p>
        {conditions.length === 0 ? 'All records' : 'Records that match the filter'}
        {total === undefined ? '' : ` (${formatCount(total)})`}
        {conditions.length === 0 ? '.' : ': '}
        {conditions.join(', ')}{' '}
        {conditions.length === 0 ? null : <a href={hashOf(place, { _tab: 'transfer' })}>Export all instead</a>}
      </p>
      <div class="row">
        <Field label="Format of the file">
          {(attributes) => (
            <select
              {...attributes}
              value={format}
              onChange={({ currentTarget: { value } }) => setFormat(formats.find((each) => each === value) ?? 'json')}
            >
              {formats.map((each) => (
                <option key={each} value={each}>
                  {formatLabels[each]}
                </option>
              ))}
            </select>
          )}
        </Field>
        <button type="button" class="primary" disabled={isBusy} onClick={() => void run()}>
          Export
        </button>
        {isBusy ? <Button onClick={() => running.current?.abort()}>Stop</Button> : null}
      </div>
      {count === undefined ? null : <Progress label="Reading" done={count} total={Math.max(total ?? 0, count)} />}
      <FailureNote error={error} />
    </section>
  );
}

function download(name: string, parts: readonly string[], type: string): void {
  const address = URL.createObjectURL(new Blob([...parts], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
