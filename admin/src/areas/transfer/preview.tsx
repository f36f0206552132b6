// The first records of an import as they would be stored, and the number of rows that cannot be read.
import type { JSX } from 'preact';
import { formatCount } from '../../core/format.ts';
import { previewText } from '../../core/json-text.ts';
import { Table, type Column } from '../../ui/table.tsx';
import type { Draft } from './source.ts';

const shownRows = 8;

const columns: readonly Column<Draft>[] = [
  { key: 'row', label: 'Row', width: 70, cell: ({ place }) => place },
  { key: 'id', label: 'id', width: 140, cell: ({ id }) => (id === '' ? <span class="quiet">generated</span> : id) },
  {
    key: 'data',
    label: 'Attributes',
    width: 420,
    cell: ({ data, fault }) =>
      fault === undefined ? <code>{previewText(data, 160)}</code> : <span class="fault">{fault}</span>,
  },
];

export function Preview({ drafts }: { readonly drafts: readonly Draft[] }): JSX.Element {
  const faults = drafts.filter(({ fault }) => fault !== undefined).length;
  return (
    <>
      <h3>Preview</h3>
      <p class="hint">
        {formatCount(drafts.length)} rows{faults === 0 ? '.' : `, ${formatCount(faults)} of them cannot be imported.`}
      </p>
      <Table
        caption="the first rows"
        columns={columns}
        rows={drafts.slice(0, shownRows)}
        idOf={({ place }) => String(place)}
      />
    </>
  );
}
