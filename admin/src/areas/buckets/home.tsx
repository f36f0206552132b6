// The first page: the buckets that the user may read, collections that others share, and the personal bucket.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { displayText, memberText } from '../../core/json-text.ts';
import { loadPage } from '../../core/objects.ts';
import { everything, loadPermits } from '../../core/permits.ts';
import { below, hashOf, kinds } from '../../core/places.ts';
import { go } from '../../core/router.ts';
import { useApp } from '../../ui/app-context.ts';
import { useLoad } from '../../ui/hooks.ts';
import { Field } from '../../ui/parts.tsx';
import type { PageProps } from '../area.ts';
import { FirstVisit } from './first-visit.tsx';
import { ObjectList } from './object-list.tsx';

/** Maximum number of shared collections that are shown. */
const sharedLimit = 100;

export function Home({ query }: PageProps): JSX.Element {
  const { api, service } = useApp();
  const { value: permits = everything } = useLoad(
    (signal) => loadPermits({ api, service }, [], undefined, signal),
    'root',
  );
  const [total, setTotal] = useState<number | undefined>(undefined);
  const isNew = query.has('_new');
  const isFiltered = [...query.keys()].some((key) => !key.startsWith('_'));
  // The first steps stay while they create buckets.
  const hadNone = useRef(false);
  const isEmpty = total === 0 && !isFiltered;
  hadNone.current ||= isEmpty;
  const isFirst = service.userId !== undefined && !isNew && (query.has('_sample') || hadNone.current);
  return (
    <>
      <header class="page-head">
        <h1 tabIndex={-1}>Buckets</h1>
      </header>
      {isNew || !isEmpty ? null : <Shared />}
      {isFirst ? <FirstVisit isEmpty={isEmpty} mayCreate={permits.mayCreate('bucket')} /> : null}
      {service.capabilities.has('default_bucket') && service.userId !== undefined && !isNew ? (
        <p class="hint">
          <a href={hashOf(below([], kinds.bucket, 'default'))}>Your personal bucket</a> belongs to you alone, and is
          created on first use.
        </p>
      ) : null}
      <ObjectList
        place={[]}
        kind={kinds.bucket}
        query={query}
        failure={undefined}
        tab=""
        permits={permits}
        onTotal={setTotal}
      />
      {isNew || isEmpty ? null : <Shared />}
      {isNew ? null : <OpenById />}
    </>
  );
}

/** Collections on which others gave the user permissions, in buckets that are not in the list of buckets. */
function Shared(): JSX.Element | null {
  const { api, service } = useApp();
  const isKnown = service.capabilities.has('permissions_endpoint') && service.userId !== undefined;
  const { value } = useLoad(async (signal) => {
    if (!isKnown) return [];
    const readable = new Set<string>();
    for (const row of (await loadPage(api, 'buckets', '_limit=1000', signal)).rows) readable.add(idIn(row, 'id'));
    const query = new URLSearchParams({ resource_name: 'collection', _limit: String(sharedLimit) });
    const { rows } = await loadPage(api, 'permissions', query, signal);
    return rows
      .map((row) => ({ bucket: idIn(row, 'bucket_id'), collection: idIn(row, 'id') }))
      .filter(({ bucket }) => bucket !== '' && !readable.has(bucket));
  }, 'shared');
  if (value === undefined || value.length === 0) return null;
  return (
    <section class="panel" aria-label="Shared with you">
      <h2>Shared with you</h2>
      <ul class="links">
        {value.map(({ bucket, collection }) => (
          <li key={`${bucket}/${collection}`}>
            <a href={hashOf(below(below([], kinds.bucket, bucket), kinds.collection, collection))}>
              {bucket} / {collection}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function idIn(row: string, key: string): string {
  return displayText(memberText(row, key) ?? '""');
}

/** Users who may not list buckets open one by its id. */
function OpenById(): JSX.Element {
  const [id, setId] = useState('');
  return (
    <form
      class="row open-by-id"
      onSubmit={(event) => {
        event.preventDefault();
        void go(hashOf(below([], kinds.bucket, id.trim())));
      }}
    >
      <Field label="Open a bucket by its id">
        {(attributes) => (
          <input
            {...attributes}
            required
            autocomplete="off"
            spellcheck={false}
            value={id}
            onInput={(event) => setId(event.currentTarget.value)}
          />
        )}
      </Field>
      <button type="submit">Open</button>
    </form>
  );
}
