// The filter builder of lists: adds conditions, shows the active ones, and the request that they make.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import {
  describeCondition,
  listParameters,
  operators,
  withFilter,
  withoutFilter,
  type Condition,
} from '../core/list-query.ts';
import { navigate } from '../core/router.ts';
import { alternativesOf, conditionsOf, withAll, withAlternatives } from '../core/selectors.ts';
import { useApp } from './app-context.ts';
import { AttributeField } from './attribute-field.tsx';
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
  const { service } = useApp();
  const alternatives = alternativesOf(query);
  const all = conditionsOf(query);
  const isAny = alternatives !== undefined && alternatives.length > 0;
  const conditions = isAny ? [...alternatives, ...all] : all;
  const hasSelector = alternatives === undefined;
  const show = (next: readonly Condition[], any: boolean): void =>
    navigate(hrefOf(any ? withAlternatives(query, next) : withAll(query, next)));
  return (
    <div class="filters">
      <details class="filter-box" open={conditions.length > 0 || hasSelector}>
        <summary data-key="filter">
          <Icon name="filter" /> Filter
        </summary>
        <FilterForm
          fields={fields}
          onAdd={(condition) =>
            isAny ? show([...conditions, condition], true) : navigate(hrefOf(withFilter(query, condition)))
          }
        />
        {conditions.length === 0 && !hasSelector ? null : (
          <ul class="chips" aria-label="Filters">
            {conditions.map((condition, index) => (
              <Chip
                key={`${describeCondition(condition)}:${index}`}
                label={describeCondition(condition)}
                onRemove={() =>
                  hasSelector
                    ? navigate(hrefOf(withoutFilter(query, `${condition.prefix}${condition.field}`, condition.value)))
                    : show(conditions.toSpliced(index, 1), isAny)
                }
              />
            ))}
            {hasSelector ? <Chip label={query.get('_filter') ?? ''} onRemove={() => show(conditions, false)} /> : null}
          </ul>
        )}
        {service.capabilities.has('selectors') && !hasSelector && conditions.length > 0 ? (
          <label class="any">
            <input type="checkbox" checked={isAny} onChange={() => show(conditions, !isAny)} /> One of the conditions is
            enough
          </label>
        ) : null}
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
  readonly fields: readonly string[];
  readonly onAdd: (condition: Condition) => void;
}

function FilterForm({ fields, onAdd }: FormProps): JSX.Element {
  const [field, setField] = useState('');
  const [prefix, setPrefix] = useState('');
  const [value, setValue] = useState('');
  return (
    <form
      class="row"
      role="search"
      aria-label="Filter"
      onSubmit={(event) => {
        event.preventDefault();
        onAdd({ prefix, field: field.trim(), value });
        setValue('');
      }}
    >
      <AttributeField label="Field" known={fields} value={field} onInput={setField} />
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
    </form>
  );
}

function Chip({ label, onRemove }: { readonly label: string; readonly onRemove: () => void }): JSX.Element {
  return (
    <li>
      {label}
      <button type="button" aria-label={`Remove: ${label}`} onClick={onRemove}>
        <Icon name="close" />
      </button>
    </li>
  );
}
