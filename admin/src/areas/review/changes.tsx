// What an approval would publish: the difference between the source and its destination, record by record.
import type { JSX } from 'preact';
import { formatCount } from '../../core/format.ts';
import { below, hashOf, kinds, type Place } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { DiffView } from '../../ui/diff-view.tsx';
import { useLoad } from '../../ui/hooks.ts';
import { Button, Empty, FailureNote, Loading } from '../../ui/parts.tsx';
import { compareCollections, comparedLimit, type RecordChange } from './compare.ts';

/** Maximum number of changes that are shown. */
const shownLimit = 100;
/** Number of changes that are shown open. */
const openLimit = 5;

export interface ChangesProps {
  readonly source: Place;
  readonly destination: Place;
  /** Changes with the source. */
  readonly version: string;
}

export function Changes({ source, destination, version }: ChangesProps): JSX.Element {
  const { api } = useApp();
  const { value, error, isLoading, reload } = useLoad(
    (signal) => compareCollections(api, source, destination, signal),
    `${hashOf(source)} ${version}`,
  );
  return (
    <section class="panel" aria-label="Changes" aria-busy={isLoading}>
      <h2>Changes since the last signature</h2>
      <FailureNote error={error} onRetry={reload} />
      {value === undefined ? (
        error === undefined ? (
          <Loading />
        ) : null
      ) : (
        <>
          <p class="total">
            {summaryOf(value.changes)}{' '}
            <Button class="small" onClick={reload}>
              Compare again
            </Button>
          </p>
          {value.isComplete ? null : (
            <p class="note">Only the first {formatCount(comparedLimit)} records of each collection are compared.</p>
          )}
          {value.changes.length === 0 ? <Empty>The destination has the same records.</Empty> : null}
          {value.changes.slice(0, shownLimit).map((change, index) => (
            <Change key={`${change.kind} ${change.id}`} change={change} source={source} isOpen={index < openLimit} />
          ))}
          {value.changes.length > shownLimit ? <p class="note">The first {shownLimit} changes are shown.</p> : null}
        </>
      )}
    </section>
  );
}

interface ChangeProps {
  readonly change: RecordChange;
  readonly source: Place;
  readonly isOpen: boolean;
}

function Change({ change: { id, kind, before, after }, source, isOpen }: ChangeProps): JSX.Element {
  const isRecord = id !== '';
  return (
    <details open={isOpen} class="change">
      <summary>
        <strong class={`verb ${verbs[kind]}`}>{kind}</strong>{' '}
        <span>{isRecord ? id : 'attributes of the collection'}</span>
      </summary>
      <DiffView before={before} after={after} label={`Difference of ${isRecord ? id : 'the attributes'}`} />
      {isRecord && kind !== 'removed' ? (
        <p>
          <a href={hashOf(below(source, kinds.record, id))}>Open the record {id}</a>
        </p>
      ) : null}
    </details>
  );
}

/** Names of the styles of verbs. */
const verbs = { added: 'create', changed: 'update', removed: 'delete' } as const;

function summaryOf(changes: readonly RecordChange[]): string {
  const count = (kind: RecordChange['kind']): string =>
    `${formatCount(changes.filter((change) => change.kind === kind).length)} ${kind}`;
  return `${count('added')}, ${count('changed')}, ${count('removed')}`;
}
