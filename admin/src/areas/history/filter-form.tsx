// The filters of the history: user, action and time. The address holds them.
import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { fromFirstPage } from '../../core/list-query.ts';
import { hashOf, type Place } from '../../core/places.ts';
import { navigate } from '../../core/router.ts';
import { useApp } from '../../ui/app-context.ts';
import { Field } from '../../ui/parts.tsx';
import { filterNames } from './entries.ts';

type Values = Readonly<Record<(typeof filterNames)[number], string>>;

function valuesOf(query: URLSearchParams): Values {
  const read = (name: string): string => query.get(name) ?? '';
  return { _user: read('_user'), _action: read('_action'), _after: read('_after'), _until: read('_until') };
}

export function HistoryFilter({
  place,
  query,
}: {
  readonly place: Place;
  readonly query: URLSearchParams;
}): JSX.Element {
  const { service } = useApp();
  const [values, setValues] = useState(() => valuesOf(query));
  useLayoutEffect(() => setValues(valuesOf(query)), [query.toString()]);
  const show = (next: Values): void => {
    const address = fromFirstPage(query);
    for (const name of filterNames) {
      if (next[name].trim() === '') address.delete(name);
      else address.set(name, next[name].trim());
    }
    navigate(hashOf(place, address));
  };
  const isFiltered = filterNames.some((name) => query.has(name));
  const change = (name: keyof Values, value: string): void => setValues((before) => ({ ...before, [name]: value }));
  return (
    <form
      class="row history-filter"
      role="search"
      aria-label="Filter"
      onSubmit={(event) => {
        event.preventDefault();
        show(values);
      }}
    >
      <Field label="User">
        {(attributes) => (
          <input
            {...attributes}
            list="history-users"
            autocomplete="off"
            spellcheck={false}
            placeholder="any user id"
            value={values['_user']}
            onInput={(event) => change('_user', event.currentTarget.value)}
          />
        )}
      </Field>
      <datalist id="history-users">
        {service.userId === undefined ? null : <option value={service.userId}>you</option>}
        <option value="null">anonymous users</option>
      </datalist>
      <Field label="Change">
        {(attributes) => (
          <select
            {...attributes}
            value={values['_action']}
            onChange={(event) => change('_action', event.currentTarget.value)}
          >
            <option value="">any</option>
            <option value="create">created</option>
            <option value="update">changed</option>
            <option value="delete">deleted</option>
          </select>
        )}
      </Field>
      {(['_after', '_until'] as const).map((name) => (
        <Field key={name} label={name === '_after' ? 'From' : 'Until'}>
          {(attributes) => (
            <input
              {...attributes}
              type="datetime-local"
              value={values[name]}
              onInput={(event) => change(name, event.currentTarget.value)}
            />
          )}
        </Field>
      ))}
      <button type="submit">Show</button>
      {isFiltered ? (
        <button type="button" onClick={() => show({ _user: '', _action: '', _after: '', _until: '' })}>
          Show all
        </button>
      ) : null}
    </form>
  );
}
