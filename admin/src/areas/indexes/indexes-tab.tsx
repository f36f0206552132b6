// The declared indexes of a collection and their states.
import type { JSX } from 'preact';
import { formatSize } from '../../core/format.ts';
import { displayText, elementsOf, memberText } from '../../core/json-text.ts';
import { pathOf } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { useLoad } from '../../ui/hooks.ts';
import { Empty, FailureNote, Loading, Moment } from '../../ui/parts.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import type { TabProps } from '../area.ts';

const columns: readonly Column<string>[] = [
  { key: 'fields', label: 'Fields', width: 260, cell: (index) => <code>{fieldsOf(index)}</code> },
  {
    key: 'unique',
    label: 'Unique',
    width: 80,
    cell: (index) => (memberText(index, 'unique') === 'true' ? 'yes' : 'no'),
  },
  { key: 'state', label: 'State', width: 260, cell: stateOf },
  {
    key: 'size',
    label: 'Size',
    width: 120,
    cell: (index) => `about ${formatSize(Number(memberText(index, 'sizeBytes')))}`,
  },
  { key: 'used', label: 'Last used', width: 180, cell: lastUse },
];

export function IndexesTab({ place }: TabProps): JSX.Element {
  const { api } = useApp();
  const path = `${pathOf(place)}/indexes`;
  const { value, error, reload } = useLoad(async (signal) => {
    const { text } = await api.request('GET', path, { signal });
    return elementsOf(memberText(text, 'data') ?? '[]');
  }, path);
  if (error !== undefined) return <FailureNote error={error} onRetry={reload} />;
  if (value === undefined) return <Loading />;
  return (
    <>
      {value.length === 0 ? (
        <Empty>This collection declares no indexes.</Empty>
      ) : (
        <Table caption="indexes" columns={columns} rows={value} idOf={(index) => String(value.indexOf(index))} />
      )}
      <p class="hint">
        Indexes make queries fast. Declare them in the attribute <code>indexes</code>, for example{' '}
        <code>{'[{"fields": ["status", "-date"]}, {"fields": ["email"], "unique": true}, {"text": ["title"]}]'}</code>.
      </p>
    </>
  );
}

function fieldsOf(index: string): string {
  const names = (key: string): string =>
    elementsOf(memberText(index, key) ?? '[]')
      .map(displayText)
      .join(', ');
  return memberText(index, 'text') === undefined ? names('fields') : `text: ${names('text')}`;
}

function lastUse(index: string): JSX.Element | string {
  const used = memberText(index, 'lastUsed');
  return used === undefined || used === 'null' ? 'never' : <Moment text={used} />;
}

function stateOf(index: string): string {
  const state = displayText(memberText(index, 'state') ?? '""');
  if (state === 'building') return `building, ${memberText(index, 'done')} of ${memberText(index, 'total')} records`;
  if (state !== 'failed') return state;
  const duplicates = elementsOf(memberText(index, 'duplicates') ?? '[]').map(displayText);
  return `failed: ${duplicates.join(' and ')} have the same values`;
}
