// The result of an action on many objects: a count, and a row for each object that stayed as it was, with the reason.
import type { JSX } from 'preact';
import type { BatchResult, BatchStatus } from '../core/batch.ts';
import { formatCount } from '../core/format.ts';

const statusLabels: Readonly<Record<BatchStatus, string>> = {
  done: 'done',
  changed: 'changed by another user',
  refused: 'refused',
  open: 'not done',
};
/** Maximum number of rows that are shown. */
const shownLimit = 200;

export interface BatchReportProps {
  readonly doneCount: number;
  /** What has happened to those that are done, such as `deleted`. */
  readonly done: string;
  readonly failed: readonly BatchResult[];
  readonly hrefOf?: (name: string) => string;
  readonly onClose: () => void;
}

export function BatchReport({ doneCount, done, failed, hrefOf, onClose }: BatchReportProps): JSX.Element {
  return (
    <section class="note bad report" role="alert" aria-label="Report">
      <p>
        {formatCount(doneCount)} {done}, {formatCount(failed.length)} not:
      </p>
      {/* The list may be longer than its height, and is scrolled by keyboard as well. */}
      <ul tabIndex={0}>
        {failed.slice(0, shownLimit).map(({ name, status, message }, index) => (
          <li key={index}>
            {hrefOf === undefined ? <b>{name}</b> : <a href={hrefOf(name)}>{name}</a>}: {statusLabels[status]}
            {message === '' ? '' : `. ${message}`}
          </li>
        ))}
      </ul>
      {failed.length > shownLimit ? <p>{formatCount(failed.length - shownLimit)} more are not shown.</p> : null}
      <button type="button" class="small" onClick={onClose}>
        Close the report
      </button>
    </section>
  );
}
