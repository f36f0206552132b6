// The table of all lists: sortable and resizable columns, rows that open on click, selection, marks of changed rows.
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { go } from '../core/router.ts';
import { Scroll } from './parts.tsx';

export interface Column<Row> {
  readonly key: string;
  readonly label: string;
  /** Width in pixels. */
  readonly width: number;
  /** Width to which the column shrinks where the table is wider than the page; without it, the column keeps its width. */
  readonly minWidth?: number;
  readonly cell: (row: Row) => ComponentChildren;
  /** The address that sorts by the column; without it, the column cannot be sorted by. */
  readonly sortHref?: string;
  readonly sort?: 'ascending' | 'descending' | 'none';
}

export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly onChange: (ids: ReadonlySet<string>) => void;
}

export interface TableProps<Row> {
  readonly caption: string;
  /** The first column names the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** The address that a click on the row opens. */
  readonly hrefOf?: (row: Row) => string;
  readonly changed?: ReadonlySet<string>;
  readonly selection?: Selection;
  readonly onResize?: (key: string, width: number) => void;
}

const narrowest = 60;
const widest = 1200;
/** Pixels by which the arrow keys change a width. */
const resizeStep = 20;

/** Width of the column of check boxes. */
const checkWidth = 40;

/** Returns the columns with the widths that they have in a space; `0` while it is unknown. */
export function fitted<Row>(columns: readonly Column<Row>[], available: number): readonly Column<Row>[] {
  const sum = (each: (column: Column<Row>) => number): number =>
    columns.reduce((total, column) => total + each(column), 0);
  const excess = sum(({ width }) => width) - available;
  const slack = sum(({ width, minWidth = width }) => Math.max(width - minWidth, 0));
  // Where the table has to scroll anyway, such as on a phone, its columns stay readable.
  if (available <= 0 || excess <= 0 || slack < excess) return columns;
  const share = excess / slack;
  return columns.map((column) => {
    const { width, minWidth = width } = column;
    return { ...column, width: Math.floor(width - Math.max(width - minWidth, 0) * share) };
  });
}

/** Follows the width of an element. */
function useWidth(): { readonly box: RefObject<HTMLDivElement | null>; readonly width: number } {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = (): void => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { box, width };
}

export function Table<Row>(props: TableProps<Row>): JSX.Element {
  const { caption, rows, idOf, selection, onResize } = props;
  const { box, width: available } = useWidth();
  const columns = fitted(props.columns, available - (selection === undefined ? 0 : checkWidth));
  const total = columns.reduce((sum, { width }) => sum + width, selection === undefined ? 0 : checkWidth);
  const ids = rows.map(idOf);
  const isAll = selection !== undefined && ids.length > 0 && ids.every((id) => selection.ids.has(id));
  return (
    <Scroll label={`Table of ${caption}`} box={box}>
      <table style={{ minWidth: `${total}px` }}>
        <caption class="hidden">{caption}</caption>
        <colgroup>
          {selection === undefined ? null : <col style={{ width: `${checkWidth}px` }} />}
          {columns.map(({ key, width }) => (
            <col key={key} style={{ width: `${width}px` }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {selection === undefined ? null : (
              <td class="check">
                <input
                  type="checkbox"
                  aria-label="Select all rows of the page"
                  checked={isAll}
                  onChange={() => selection.onChange(new Set(isAll ? [] : ids))}
                />
              </td>
            )}
            {columns.map((column) => (
              <th
                key={column.key}
                scope="col"
                aria-label={column.label}
                aria-sort={column.sortHref === undefined ? undefined : column.sort}
              >
                {column.sortHref === undefined ? (
                  column.label
                ) : (
                  <a href={column.sortHref} title={`Sort by ${column.label}`}>
                    {column.label}
                  </a>
                )}
                {onResize === undefined ? null : <Resizer column={column} onResize={onResize} />}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <TableRow key={idOf(row)} row={row} {...props} columns={columns} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function TableRow<Row>({
  row,
  columns,
  idOf,
  hrefOf,
  changed,
  selection,
}: TableProps<Row> & { readonly row: Row }): JSX.Element {
  const id = idOf(row);
  const isSelected = selection?.ids.has(id) === true;
  const names = [changed?.has(id) === true ? 'changed' : '', hrefOf === undefined ? '' : 'opens'].join(' ').trim();
  const toggle = (): void => {
    if (selection === undefined) return;
    const next = new Set(selection.ids);
    if (!next.delete(id)) next.add(id);
    selection.onChange(next);
  };
  const [first, ...others] = columns;
  return (
    <tr
      class={names === '' ? undefined : names}
      aria-selected={selection === undefined ? undefined : isSelected}
      onClick={(event) => {
        if (hrefOf !== undefined && opensRow(event)) void go(hrefOf(row));
      }}
    >
      {selection === undefined ? null : (
        <td class="check">
          <input type="checkbox" aria-label={`Select ${id}`} checked={isSelected} onChange={toggle} />
        </td>
      )}
      {first === undefined ? null : (
        <th scope="row">{hrefOf === undefined ? first.cell(row) : <a href={hrefOf(row)}>{first.cell(row)}</a>}</th>
      )}
      {others.map((column) => (
        <td key={column.key}>{column.cell(row)}</td>
      ))}
    </tr>
  );
}

/** Returns whether a click means the row: not a control in it, and not the end of a selection of text. */
function opensRow(event: MouseEvent): boolean {
  const { target } = event;
  if (!(target instanceof Element) || target.closest('a, button, input, .check') !== null) return false;
  return !event.defaultPrevented && event.button === 0 && (getSelection()?.isCollapsed ?? true);
}

interface ResizerProps<Row> {
  readonly column: Column<Row>;
  readonly onResize: (key: string, width: number) => void;
}

/** The edge of a column: it is dragged, or moved with the arrow keys. */
function Resizer<Row>({ column, onResize }: ResizerProps<Row>): JSX.Element {
  const start = useRef<{ readonly x: number; readonly width: number } | undefined>(undefined);
  const resize = (width: number): void =>
    onResize(column.key, Math.round(Math.min(Math.max(width, narrowest), widest)));
  return (
    <span
      class="resizer"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={`Width of ${column.label}`}
      aria-valuenow={column.width}
      aria-valuemin={narrowest}
      aria-valuemax={widest}
      onKeyDown={(event) => {
        const step = event.key === 'ArrowRight' ? resizeStep : event.key === 'ArrowLeft' ? -resizeStep : 0;
        if (step === 0) return;
        event.preventDefault();
        resize(column.width + step);
      }}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { x: event.clientX, width: column.width };
      }}
      onPointerMove={(event) => {
        if (start.current !== undefined) resize(start.current.width + event.clientX - start.current.x);
      }}
      onPointerUp={() => {
        start.current = undefined;
      }}
    />
  );
}
