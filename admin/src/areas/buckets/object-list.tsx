// A list of buckets, collections or groups: sorting, a filter by id, pages, updates by other users, and the form for a new
// object.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { formatCount } from '../../core/format.ts';
import { displayText, elementsOf, memberText, previewText, withoutMembers } from '../../core/json-text.ts';
import type { StoredObject } from '../../core/objects.ts';
import type { Permits } from '../../core/permits.ts';
import { below, hashOf, listPathOf, type Kind, type Place } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { Empty, Moment, NoPermission } from '../../ui/parts.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { ListFrame, usePagedList } from '../../ui/list-frame.tsx';
import { CreateForm } from '../../ui/forms/create-form.tsx';
import { useRecordCounts } from './record-counts.ts';

export interface ObjectListProps {
  readonly place: Place;
  readonly kind: Kind;
  readonly query: URLSearchParams;
  /** Why the parent cannot be read. */
  readonly failure: unknown;
  readonly tab: string;
  /** The parent; absent for the list of buckets. */
  readonly object?: StoredObject | undefined;
  /** Permits of the user for the parent. */
  readonly permits: Permits;
  readonly onTotal?: (total: number | undefined) => void;
}

export function ObjectList(props: ObjectListProps): JSX.Element {
  const { place, kind, query, permits } = props;
  if (!query.has('_new')) return <Rows {...props} />;
  if (permits.mayCreate(kind.name)) {
    return <CreateForm place={place} kind={kind} backHref={hashOf(place, withoutNew(query))} />;
  }
  return (
    <Empty>
      <NoPermission to={`create ${kind.plural} ${place.length === 0 ? 'here' : 'in this bucket'}`} />
    </Empty>
  );
}

function withoutNew(query: URLSearchParams): URLSearchParams {
  const next = new URLSearchParams(query);
  next.delete('_new');
  return next;
}

function Rows(props: ObjectListProps): JSX.Element {
  const { place, kind, query, failure, tab, permits, onTotal } = props;
  const { service } = useApp();
  const address = new URLSearchParams(query);
  if (tab !== '') address.set('_tab', tab);
  const hrefOf = (next: URLSearchParams): string => hashOf(place, next);
  const list = usePagedList({ path: listPathOf(place, kind), query: address, hrefOf, defaultSort: 'id' });
  useEffect(() => onTotal?.(list.total), [list.total]);
  const isFiltered = [...query.keys()].some((key) => !key.startsWith('_') || key === '_filter');
  const rows = list.page?.rows ?? [];
  const idOf = (row: string): string => displayText(memberText(row, 'id') ?? '""');
  const counts = useRecordCounts(place, kind.name === 'collection' ? rows.map(idOf) : []);
  const create = new URLSearchParams(address);
  create.set('_new', '1');
  const columns: readonly Column<string>[] = [
    {
      key: 'id',
      label: 'id',
      width: 240,
      cell: (row) => nameOf(idOf(row), service.personalBucket),
      ...list.sortable('id'),
    },
    ...(kind.name === 'collection'
      ? [{ key: 'records', label: 'records', width: 100, cell: (row: string) => countText(counts.get(idOf(row))) }]
      : []),
    ...(kind.name === 'group'
      ? [{ key: 'members', label: 'members', width: 120, cell: (row: string) => memberCount(row) }]
      : [{ key: 'description', label: 'attributes', width: 360, cell: describe }]),
    {
      key: 'last_modified',
      label: 'last_modified',
      width: 190,
      cell: (row) => <Moment text={memberText(row, 'last_modified')} />,
      ...list.sortable('last_modified'),
    },
  ];
  return (
    <ListFrame
      list={list}
      noun={kind}
      fields={['id', 'last_modified']}
      actions={
        service.isReadOnly ? null : permits.mayCreate(kind.name) ? (
          <a class="button primary" href={hrefOf(create)}>
            New {kind.name}
          </a>
        ) : (
          <NoPermission to={`create ${kind.plural} here`} />
        )
      }
      failure={failure}
      empty={isFiltered ? `No ${kind.plural} match these filters.` : emptyText(props)}
    >
      <Table
        caption={kind.plural}
        columns={columns}
        rows={rows}
        idOf={idOf}
        hrefOf={(row) => hashOf(below(place, kind, idOf(row)))}
        changed={list.changed}
      />
    </ListFrame>
  );
}

/** Only writers of the parent see its permissions, and all that is in it. */
function emptyText({ place, kind, object: parent, permits }: ObjectListProps): string {
  if (place.length === 0) {
    return `No buckets are visible to you yet.${permits.mayCreate('bucket') ? ' Create one above.' : ''}`;
  }
  if (parent === undefined || parent.permissions.size === 0) return `No ${kind.plural} are visible to you here.`;
  return kind.name === 'group'
    ? 'This bucket has no groups yet. A group gives permissions to several users at once.'
    : 'This bucket has no collections yet. A collection holds the records.';
}

function nameOf(id: string, personalBucket: string | undefined): string {
  return id === personalBucket ? `Personal bucket (${id})` : id;
}

/** Attributes that marks stand for, and those that only the console reads. */
const marks: readonly (readonly [key: string, label: string])[] = [
  ['schema', 'schema'],
  ['indexes', 'indexes'],
];
const quietMembers = ['id', 'last_modified', 'schema', 'indexes', 'displayFields', 'origin'];

/** Returns marks of what a collection has, and the first of its other attributes on one line. */
function describe(row: string): JSX.Element {
  const shown = marks.filter(([key]) => !['undefined', 'null', '[]'].includes(String(memberText(row, key))));
  const text = previewText(withoutMembers(row, quietMembers), 120);
  return (
    <>
      {shown.map(([key, label]) => (
        <span key={key} class="badge">
          {label}
        </span>
      ))}{' '}
      {text === '{}' ? '' : text}
    </>
  );
}

function memberCount(row: string): string {
  const members = memberText(row, 'members') ?? '[]';
  return members.startsWith('[') ? formatCount(elementsOf(members).length) : '';
}

function countText(count: number | undefined): string {
  return count === undefined ? '' : formatCount(count);
}
