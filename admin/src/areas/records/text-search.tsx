// The search in the texts of records, where the collection declares a text index; otherwise how to declare one.
import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { elementsOf, isObjectText, memberText } from '../../core/json-text.ts';
import { fromFirstPage } from '../../core/list-query.ts';
import { hashOf, pathOf, type Place } from '../../core/places.ts';
import { navigate } from '../../core/router.ts';
import { useApp } from '../../ui/app-context.ts';
import { useAttempt } from '../../ui/hooks.ts';
import { Icon } from '../../ui/icons.tsx';
import { FailureNote } from '../../ui/parts.tsx';
import { say } from '../../ui/toast.tsx';

export interface TextSearchProps {
  readonly query: URLSearchParams;
  readonly place: Place;
  /** The collection as JSON text. */
  readonly collection: string;
  /** Attributes of the records. */
  readonly fields: readonly string[];
  /** Whether the user may declare a text index. */
  readonly mayDeclare: boolean;
  readonly reload: () => void;
}

/** Returns whether a collection declares a text index. */
function hasTextIndex(collection: string): boolean {
  const text = memberText(collection, 'indexes') ?? '';
  if (!text.startsWith('[')) return false;
  return elementsOf(text).some((index) => isObjectText(index) && memberText(index, 'text') !== undefined);
}

export function TextSearch(props: TextSearchProps): JSX.Element {
  const { query, place, collection } = props;
  const current = query.get('_q') ?? '';
  const [typed, setTyped] = useState(current);
  useLayoutEffect(() => setTyped(current), [current]);
  if (!hasTextIndex(collection) && current === '') {
    return <TextIndexHint {...props} />;
  }
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

/** Maximum number of fields of a text index, and of fields to choose from. */
const maxIndexFields = 4;
const maxChoices = 12;

/** Declares a text index with the fields that the user chooses. */
function TextIndexHint({ place, collection, fields, mayDeclare, reload }: TextSearchProps): JSX.Element {
  const { api } = useApp();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const { error, isBusy, attempt } = useAttempt();
  const declare = (): Promise<void> =>
    attempt(async () => {
      const text = memberText(collection, 'indexes') ?? '[]';
      const indexes = text.startsWith('[') ? elementsOf(text) : [];
      const body = `{"data":{"indexes":[${[...indexes, `{"text":${JSON.stringify(chosen)}}`].join(',')}]}}`;
      const version = memberText(collection, 'last_modified') ?? '';
      await api.request('PATCH', pathOf(place), { body, headers: { 'If-Match': `"${version}"` } });
      reload();
      say('The text index is declared.');
    });
  const names = fields.filter((name) => !['id', 'last_modified', 'schema', 'attachment'].includes(name));
  const canChoose = names.length > 0 && mayDeclare;
  return (
    <details class="filter-box">
      <summary>
        <Icon name="search" /> Text search
      </summary>
      <p class="hint">
        This collection has no text index.{' '}
        {canChoose ? (
          'Choose up to four fields to search in.'
        ) : (
          <>
            Its attribute <code>indexes</code> declares one: <code>{'[{"text": ["title"]}]'}</code>.
          </>
        )}
      </p>
      {canChoose ? (
        <div class="actions" role="group" aria-label="What to search in">
          {names.slice(0, maxChoices).map((name) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={chosen.includes(name)}
                disabled={!chosen.includes(name) && chosen.length === maxIndexFields}
                onChange={() =>
                  setChosen(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name])
                }
              />{' '}
              {name}
            </label>
          ))}
          <button type="button" class="small" disabled={chosen.length === 0 || isBusy} onClick={() => void declare()}>
            Declare a text index
          </button>
        </div>
      ) : null}
      <FailureNote error={error} />
    </details>
  );
}
