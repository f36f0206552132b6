// The form of an object with a JSON Schema. Each field holds the JSON text of its value, so numbers keep their digits; members
// that the schema does not name keep their places.
import type { JSX } from 'preact';
import type { FieldFault } from '../../core/errors.ts';
import { choicesOf, emptyValueOf, fieldTypeOf, numberText, propertiesOf, textIn } from '../../core/json-schema.ts';
import {
  displayText,
  elementsOf,
  isObjectText,
  memberText,
  membersOf,
  previewText,
  withMember,
} from '../../core/json-text.ts';
import { Icon } from '../icons.tsx';
import { Field, type FieldAttributes } from '../parts.tsx';

export interface SchemaFormProps {
  readonly schema: string;
  /** JSON text of an object. */
  readonly text: string;
  readonly faults: readonly FieldFault[];
  readonly onChange: (text: string) => void;
  readonly depth?: number;
  /** Names from the record to this object, for the refusals of the service. */
  readonly path?: string;
}

export function SchemaForm({ schema, text, faults, onChange, depth = 0, path = '' }: SchemaFormProps): JSX.Element {
  const properties = propertiesOf(schema);
  const known = new Set(properties.map(({ key }) => key));
  const others = membersOf(text).filter(({ key }) => !known.has(key));
  return (
    <div class="schema-form">
      {properties.map(({ key, schema: property, isRequired }) => (
        <Value
          key={key}
          name={key}
          path={path === '' ? key : `${path}.${key}`}
          label={`${textIn(property, 'title') ?? key}${isRequired ? ' *' : ''}`}
          schema={property}
          text={memberText(text, key)}
          faults={faults}
          depth={depth}
          onChange={(next) => onChange(withMember(text, key, next))}
        />
      ))}
      {others.length === 0 ? null : (
        <dl class="others">
          {others.map(({ key, text: value }, index) => (
            <div key={`${key}:${index}`}>
              <dt>{key}</dt>
              <dd>
                <code>{previewText(value, 80)}</code>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {others.length === 0 ? null : <small>The schema does not name these. Edit them as JSON.</small>}
    </div>
  );
}

interface ValueProps {
  readonly name: string;
  readonly path: string;
  readonly label: string;
  readonly schema: string;
  /** JSON text; `undefined` when the object lacks the member. */
  readonly text: string | undefined;
  readonly faults: readonly FieldFault[];
  readonly depth: number;
  readonly onChange: (text: string | undefined) => void;
}

function Value(props: ValueProps): JSX.Element {
  const { schema, label, text, faults, path, depth, onChange } = props;
  const type = fieldTypeOf(schema, depth);
  const hint = textIn(schema, 'description');
  const fault = faults.find(({ name }) => name === path)?.description;
  if (type === 'object' && (text === undefined || isObjectText(text))) {
    return (
      <fieldset>
        <legend>{label}</legend>
        {hint === undefined ? null : <small>{hint}</small>}
        <SchemaForm
          schema={schema}
          text={text ?? '{}'}
          faults={faults}
          depth={depth + 1}
          path={path}
          onChange={(next) => onChange(next === '{}' && text === undefined ? undefined : next)}
        />
      </fieldset>
    );
  }
  if (type === 'array' && (text === undefined || text.startsWith('['))) return <List {...props} />;
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(attributes) => <Control type={type} schema={schema} text={text} attributes={attributes} onChange={onChange} />}
    </Field>
  );
}

function List({ schema, label, text = '[]', faults, path, depth, onChange }: ValueProps): JSX.Element {
  const items = memberText(schema, 'items') ?? '{}';
  const elements = elementsOf(text);
  const fault = faults.find(({ name }) => name === path)?.description;
  const change = (next: readonly string[]): void => onChange(`[${next.join(',')}]`);
  return (
    <fieldset class="array">
      <legend>{label}</legend>
      {fault === undefined ? null : <small class="fault">{fault}</small>}
      {elements.map((element, index) => (
        <div class="element" key={index}>
          <Value
            name={String(index)}
            path={`${path}.${index}`}
            label={`${label.replace(/ \*$/, '')} ${index + 1}`}
            schema={items}
            text={element}
            faults={faults}
            depth={depth + 1}
            onChange={(next) => change(elements.with(index, next ?? emptyValueOf(items)))}
          />
          <button
            type="button"
            class="plain"
            aria-label={`Remove ${label} ${index + 1}`}
            onClick={() => change(elements.toSpliced(index, 1))}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
      <button type="button" class="small" onClick={() => change([...elements, emptyValueOf(items)])}>
        <Icon name="plus" /> Add to {label.replace(/ \*$/, '')}
      </button>
    </fieldset>
  );
}

interface ControlProps {
  readonly type: ReturnType<typeof fieldTypeOf>;
  readonly schema: string;
  readonly text: string | undefined;
  readonly attributes: FieldAttributes;
  readonly onChange: (text: string | undefined) => void;
}

/** Length from which a text gets a field of several lines. */
const longText = 80;

function Control({ type, schema, text, attributes, onChange }: ControlProps): JSX.Element {
  if (type === 'enum' || type === 'boolean') {
    const choices = type === 'boolean' ? ['true', 'false'] : choicesOf(schema);
    const all = text === undefined || choices.includes(text) ? choices : [...choices, text];
    return (
      <select
        {...attributes}
        value={text ?? ''}
        onChange={({ currentTarget: { value } }) => onChange(value === '' ? undefined : value)}
      >
        <option value="">—</option>
        {all.map((choice) => (
          <option key={choice} value={choice}>
            {displayText(choice)}
          </option>
        ))}
      </select>
    );
  }
  // A value of another type than the schema says is shown, and edited as JSON only.
  const isForeign = text !== undefined && /^[[{]/.test(text);
  if (type === 'json' || type === 'array' || type === 'object' || isForeign) {
    return (
      <input
        {...attributes}
        readOnly
        value={text === undefined ? '' : previewText(text, 200)}
        title="Edit it as JSON"
      />
    );
  }
  const shown = text === undefined ? '' : displayText(text);
  const change = (typed: string): void => {
    if (typed === '') onChange(undefined);
    else onChange(type === 'number' ? numberText(typed) : JSON.stringify(typed));
  };
  if (type === 'string' && (shown.length > longText || shown.includes('\n'))) {
    return (
      <textarea {...attributes} rows={6} value={shown} onInput={({ currentTarget }) => change(currentTarget.value)} />
    );
  }
  const format = textIn(schema, 'format');
  const isDate = format === 'date' && (shown === '' || /^\d{4}-\d\d-\d\d$/.test(shown));
  if (isDate) {
    return (
      <input {...attributes} type="date" value={shown} onInput={({ currentTarget }) => change(currentTarget.value)} />
    );
  }
  return (
    <input
      {...attributes}
      type="text"
      inputMode={type === 'number' ? 'decimal' : undefined}
      autocomplete="off"
      value={shown}
      onInput={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}
