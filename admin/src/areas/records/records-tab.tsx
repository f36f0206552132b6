// The table of records: chosen columns, sorting, filters, pages, live rows, text search and selection.
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { displayText, memberText, membersOf, previewText } from '../../core/json-text.ts';
import { filtersOf, listParameters } from '../../core/list-query.ts';
import { below, hashOf, kinds, listPathOf, pathOf } from '../../core/places.ts';
import { readChoice, writeChoice } from '../../core/storage.ts';
import { Icon } from '../../ui/icons.tsx';
import { ListFrame, usePagedList, type PagedList } from '../../ui/list-frame.tsx';
import { Button, Moment, NoPermission } from '../../ui/parts.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import type { TabProps } from '../area.ts';
import { BulkBar } from './bulk-bar.tsx';
import { chooseColumns } from './column-dialog.tsx';
import { checkChoice, columnsOf, knownFields, noChoice, type ColumnChoice } from './columns.ts';
import { NewRecord } from './new-record.tsx';
import { TextSearch } from './text-search.tsx';

const cellLimit = 120;
const defaultWidths: Readonly<Record<string, number>> = { id: 160, last_modified: 195 };
const defaultWidth = 150;
/** Widths to which columns shrink on a narrow page, unless the user has chosen theirs. A moment needs its width. */
const minWidths: Readonly<Record<string, number>> = { id: 100, last_modified: 195 };
const minWidth = 80;

/** A record with the texts of its members. */
interface Row {
  readonly id: string;
  readonly text: string;
  readonly members: ReadonlyMap<string, string>;
}

export function RecordsTab(props: TabProps): JSX.Element {
  return props.query.has('_new') ? <NewRecord {...props} /> : <Records {...props} />;
}

function Records({ place, query, object, failure, service, permits, reload }: TabProps): JSX.Element {
  const hrefOf = (next: URLSearchParams): string => hashOf(place, next);
  const list = usePagedList({ path: listPathOf(place, kinds.record), query, hrefOf });
  const texts = list.page?.rows;
  const rows = useMemo(() => (texts ?? []).map(readRow), [texts]);
  const [choice, setChoice] = useColumnChoice(pathOf(place));
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => setSelected(new Set()), [list.state.pageQuery, list.parameters.toString()]);
  const collection = object?.data ?? '{}';
  const fields = columnsOf(choice, collection, texts ?? []);
  const known = knownFields(fields, memberText(collection, 'schema'), texts ?? []);
  const columns = ['id', ...fields].map((field) => columnOf(field, choice.widths[field], list));
  const transfer = new URLSearchParams([...listParameters(query), ['_tab', 'transfer']]);
  const create = new URLSearchParams({ _tab: 'records', _new: '1' });
  const pick = async (): Promise<void> => {
    const next = await chooseColumns(known, fields);
    if (next !== undefined) setChoice({ ...choice, fields: next ?? undefined });
  };
  return (
    <ListFrame
      list={list}
      noun={kinds.record}
      fields={['id', ...known]}
      actions={
        <>
          <Button onClick={pick}>
            <Icon name="columns" /> Columns
          </Button>
          <a class="button" href={hrefOf(transfer)}>
            Export
          </a>
          {service.isReadOnly ? null : permits.mayCreate('record') ? (
            <a class="button primary" href={hrefOf(create)}>
              New record
            </a>
          ) : (
            <NoPermission to="create records here" />
          )}
        </>
      }
      above={
        service.capabilities.has('text-search') && object !== undefined ? (
          <TextSearch
            query={query}
            place={place}
            collection={object.data}
            fields={known}
            mayDeclare={permits.mayChange && !service.isReadOnly}
            reload={reload}
          />
        ) : null
      }
      notes={
        <BulkBar
          place={place}
          mayCreate={permits.mayCreate('record')}
          rows={rows.filter(({ id }) => selected.has(id))}
          fields={known}
          onDone={(failed) => {
            setSelected(failed);
            list.refresh();
          }}
        />
      }
      failure={failure}
      empty={isFiltered(query) ? 'No records match.' : <NoRecords place={place} object={object} service={service} />}
    >
      <Table
        caption="records"
        columns={columns}
        rows={rows}
        idOf={({ id }) => id}
        hrefOf={({ id }) => hashOf(below(place, kinds.record, id))}
        changed={list.changed}
        {...(permits.mayChangeRecords ? { selection: { ids: selected, onChange: setSelected } } : {})}
        onResize={(key, width) => setChoice({ ...choice, widths: { ...choice.widths, [key]: width } })}
      />
    </ListFrame>
  );
}

function isFiltered(query: URLSearchParams): boolean {
  return query.has('_q') || query.has('_filter') || filtersOf(query).length > 0;
}

/** An empty collection: its writers begin with records, a file, or a schema. Only writers see permissions. */
function NoRecords({ place, object, service }: Pick<TabProps, 'place' | 'object' | 'service'>): JSX.Element {
  if (object === undefined || object.permissions.size === 0) return <>No records are visible to you here.</>;
  if (service.isReadOnly) return <>This collection has no records.</>;
  return (
    <>
      <p>This collection has no records yet.</p>
      <p class="actions">
        <a class="button" href={hashOf(place, { _tab: 'records', _new: '1' })}>
          Create a record
        </a>
        <a class="button" href={hashOf(place, { _tab: 'transfer' })}>
          Import a file
        </a>
        {service.capabilities.has('schema') ? (
          <a class="button" href={hashOf(place, { _tab: 'schema' })}>
            {memberText(object.data, 'schema') === undefined ? 'Define a schema' : 'Show the schema'}
          </a>
        ) : null}
      </p>
    </>
  );
}

function readRow(text: string): Row {
  const members = new Map(membersOf(text).map(({ key, text: value }) => [key, value]));
  return { id: displayText(members.get('id') ?? '""'), text, members };
}

function columnOf(field: string, width: number | undefined, { sortable }: PagedList): Column<Row> {
  return {
    key: field,
    label: field,
    width: width ?? defaultWidths[field] ?? defaultWidth,
    ...(width === undefined ? { minWidth: minWidths[field] ?? minWidth } : {}),
    ...sortable(field),
    cell: ({ members }) =>
      field === 'last_modified' ? <Moment text={members.get(field)} /> : cellOf(members.get(field)),
  };
}

/** Returns a value as it is shown in a cell. Numbers and words look different from texts. */
function cellOf(text: string | undefined): JSX.Element | string {
  if (text === undefined) return '';
  const shown = previewText(text, cellLimit);
  return text.startsWith('"') ? shown : <span class={/^-?\d/.test(text) ? 'number' : 'json'}>{shown}</span>;
}

/** The columns that the user chose for a collection, remembered in the browser. */
function useColumnChoice(path: string): [ColumnChoice, (choice: ColumnChoice) => void] {
  const name = `columns.${path}`;
  const [choice, setChoice] = useState(() => readChoice(name, checkChoice) ?? noChoice);
  return [
    choice,
    (next) => {
      setChoice(next);
      writeChoice(name, next);
    },
  ];
}
