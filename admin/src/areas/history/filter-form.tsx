// The filters of the history: user, action and time. The address holds them.
import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { fromFirstPage } from '../../core/list-query.ts';
import { navigate } from '../../core/router.ts';
import { Field } from '../../ui/parts.tsx';
import { PrincipalField } from '../../ui/principal-picker.tsx';
import { filterNames } from './entries.ts';

type Values = Readonly<Record<(typeof filterNames)[number], string>>;

function valuesOf(query: URLSearchParams): Values {
  const read = (name: string): string => query.get(name) ?? '';
  return { _user: read('_user'), _action: read('_action'), _after: read('_after'), _until: read('_until') };
}

export interface HistoryFilterProps {
  /** Parameters of the address. */
  readonly query: URLSearchParams;
  readonly hrefOf: (query: URLSearchParams) => string;
}

export function HistoryFilter({ query, hrefOf }: HistoryFilterProps): JSX.Element {
  const [values, setValues] = useState(() => valuesOf(query));
  useLayoutEffect(() => setValues(valuesOf(query)), [query.toString()]);
  const show = (next: Values): void => {
    const address = fromFirstPage(query);
    for (const name of filterNames) {
      if (next[name].trim() === '') address.delete(name);
      else address.set(name, next[name].trim());
    }
    address.delete('_before');
    navigate(hrefOf(address));
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
      <PrincipalField
        label="User"
        place={[]}
        among="authors"
        value={values['_user']}
        onInput={(user) => change('_user', user)}
      />
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
