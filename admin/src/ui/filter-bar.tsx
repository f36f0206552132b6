// The filter builder of lists: adds conditions, shows the active ones, and the request that they make.
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { describeFilter, filtersOf, listParameters, operators, withFilter, withoutFilter } from '../core/list-query.ts';
import { navigate } from '../core/router.ts';
import { Field } from './parts.tsx';
import { Icon } from './icons.tsx';

export interface FilterBarProps {
  /** Parameters of the address. */
  readonly query: URLSearchParams;
  /** Fields to choose from; others can be typed. */
  readonly fields: readonly string[];
  /** Address of the list below the API. */
  readonly path: string;
  readonly hrefOf: (query: URLSearchParams) => string;
}

export function FilterBar({ query, fields, path, hrefOf }: FilterBarProps): JSX.Element {
  const filters = filtersOf(query);
  return (
    <div class="filters">
      <details class="filter-box" open={filters.length > 0}>
        <summary data-key="filter">
          <Icon name="search" /> Filter
        </summary>
        <FilterForm query={query} fields={fields} hrefOf={hrefOf} />
        {filters.length === 0 ? null : (
          <ul class="chips" aria-label="Filters">
            {filters.map(([key, value], index) => (
              <Chip key={`${key}=${value}:${index}`} name={key} value={value} query={query} hrefOf={hrefOf} />
            ))}
          </ul>
        )}
        <code class="request">
          GET /{path}
          {searchOf(query)}
        </code>
      </details>
    </div>
  );
}

function searchOf(query: URLSearchParams): string {
  const text = decodeURIComponent(listParameters(query).toString().replaceAll('+', ' '));
  return text === '' ? '' : `?${text}`;
}

interface FormProps {
  readonly query: URLSearchParams;
  readonly fields: readonly string[];
  readonly hrefOf: (query: URLSearchParams) => string;
}

function FilterForm({ query, fields, hrefOf }: FormProps): JSX.Element {
  const [field, setField] = useState('');
  const [prefix, setPrefix] = useState('');
  const [value, setValue] = useState('');
  const choices = useId();
  return (
    <form
      class="row"
      role="search"
      aria-label="Filter"
      onSubmit={(event) => {
        event.preventDefault();
        navigate(hrefOf(withFilter(query, { prefix, field, value })));
        setValue('');
      }}
    >
      <Field label="Field">
        {(attributes) => (
          <input
            {...attributes}
            list={choices}
            required
            autocomplete="off"
            spellcheck={false}
            value={field}
            onInput={(event) => setField(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Condition">
        {(attributes) => (
          <select {...attributes} value={prefix} onChange={(event) => setPrefix(event.currentTarget.value)}>
            {[...operators].map(([each, label]) => (
              <option key={each} value={each}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Value">
        {(attributes) => (
          <input
            {...attributes}
            autocomplete="off"
            value={value}
            title={'5 is a number, and "5" is a text'}
            onInput={(event) => setValue(event.currentTarget.value)}
          />
        )}
      </Field>
      <button type="submit">Add filter</button>
      <datalist id={choices}>
        {fields.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </form>
  );
}

interface ChipProps {
  readonly name: string;
  readonly value: string;
  readonly query: URLSearchParams;
  readonly hrefOf: (query: URLSearchParams) => string;
}

function Chip({ name, value, query, hrefOf }: ChipProps): JSX.Element {
  const label = describeFilter(name, value);
  return (
    <li>
      {label}
      <button
        type="button"
        aria-label={`Remove: ${label}`}
        onClick={() => navigate(hrefOf(withoutFilter(query, name, value)))}
      >
        <Icon name="close" />
      </button>
    </li>
  );
}
