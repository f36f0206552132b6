// The search in the texts of records, where the collection declares a text index; otherwise how to declare one.
import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { elementsOf, isObjectText, memberText } from '../../core/json-text.ts';
import { fromFirstPage } from '../../core/list-query.ts';
import { hashOf, type Place } from '../../core/places.ts';
import { navigate } from '../../core/router.ts';
import { Icon } from '../../ui/icons.tsx';

export interface TextSearchProps {
  readonly query: URLSearchParams;
  readonly place: Place;
  /** The collection as JSON text. */
  readonly collection: string;
}

/** Returns whether a collection declares a text index. */
function hasTextIndex(collection: string): boolean {
  const text = memberText(collection, 'indexes') ?? '';
  if (!text.startsWith('[')) return false;
  return elementsOf(text).some((index) => isObjectText(index) && memberText(index, 'text') !== undefined);
}

export function TextSearch({ query, place, collection }: TextSearchProps): JSX.Element {
  const current = query.get('_q') ?? '';
  const [typed, setTyped] = useState(current);
  useLayoutEffect(() => setTyped(current), [current]);
  if (!hasTextIndex(collection) && current === '') return <TextIndexHint place={place} />;
  const search = (words: string): void => {
    const next = fromFirstPage(query);
    next.delete('_sort');
    if (words.trim() === '') next.delete('_q');
    else next.set('_q', words.trim());
    navigate(hashOf(place, next));
  };
  return (
    <form
      class="text-search"
      role="search"
      aria-label="Text search"
      onSubmit={(event) => {
        event.preventDefault();
        search(typed);
      }}
    >
      <input
        type="search"
        aria-label="Search texts"
        placeholder="Search texts"
        title={'Words, "a phrase", prefix*, -not'}
        autocomplete="off"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <button type="submit" aria-label="Search">
        <Icon name="search" />
      </button>
      {current === '' ? null : (
        <button type="button" aria-label="Clear the search" onClick={() => search('')}>
          <Icon name="close" />
        </button>
      )}
    </form>
  );
}

function TextIndexHint({ place }: { readonly place: Place }): JSX.Element {
  return (
    <details class="filter-box">
      <summary>Text search</summary>
      <p class="hint">
        This collection has no text index. Add one to its <a href={hashOf(place, { _tab: 'attributes' })}>attributes</a>{' '}
        with up to four fields, for example <code>{'"indexes": [{"text": ["title", "notes"]}]'}</code>.
      </p>
    </details>
  );
}
