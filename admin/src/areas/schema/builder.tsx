// The builder of a common schema: a row for each field, with its name, kind, title and whether records need it.
import type { JSX } from 'preact';
import { textIn } from '../../core/json-schema.ts';
import { Field } from '../../ui/parts.tsx';
import { Icon } from '../../ui/icons.tsx';
import {
  choiceLines,
  kindLabels,
  kindOf,
  withChoices,
  withKind,
  withText,
  type FieldKind,
  type SchemaField,
} from './fields.ts';

export interface BuilderProps {
  readonly fields: readonly SchemaField[];
  readonly allowsOthers: boolean;
  readonly onChange: (fields: readonly SchemaField[]) => void;
  readonly onOthers: (isAllowed: boolean) => void;
}

const kindNames = Object.keys(kindLabels) as readonly FieldKind[];

export function Builder({ fields, allowsOthers, onChange, onOthers }: BuilderProps): JSX.Element {
  const change = (index: number, part: Partial<SchemaField>): void =>
    onChange(fields.map((field, at) => (at === index ? { ...field, ...part } : field)));
  const add = (): void => onChange([...fields, { name: '', isRequired: false, schema: '{"type":"string"}' }]);
  return (
    <div class="builder">
      {fields.map((field, index) => (
        <FieldRow
          key={index}
          field={field}
          number={index + 1}
          onChange={(part) => change(index, part)}
          onRemove={() => onChange(fields.toSpliced(index, 1))}
          onUp={index === 0 ? undefined : () => onChange(fields.toSpliced(index, 1).toSpliced(index - 1, 0, field))}
        />
      ))}
      <p>
        <button type="button" class="small" onClick={add}>
          <Icon name="plus" /> Add a field
        </button>
      </p>
      <p>
        <label>
          <input type="checkbox" checked={allowsOthers} onChange={(event) => onOthers(event.currentTarget.checked)} />{' '}
          Records may have other attributes
        </label>
      </p>
    </div>
  );
}

interface FieldRowProps {
  readonly field: SchemaField;
  readonly number: number;
  readonly onChange: (part: Partial<SchemaField>) => void;
  readonly onRemove: () => void;
  /** `undefined` for the first field. */
  readonly onUp: (() => void) | undefined;
}

function FieldRow({ field, number, onChange, onRemove, onUp }: FieldRowProps): JSX.Element {
  const { name, isRequired, schema } = field;
  const kind = kindOf(schema);
  return (
    <fieldset>
      <legend>Field {number}</legend>
      <div class="row">
        <Field label="Name">
          {(attributes) => (
            <input
              {...attributes}
              autocomplete="off"
              spellcheck={false}
              value={name}
              onInput={(event) => onChange({ name: event.currentTarget.value })}
            />
          )}
        </Field>
        <Field label="Kind">
          {(attributes) => (
            <select
              {...attributes}
              value={kind}
              onChange={({ currentTarget: { value } }) =>
                onChange({ schema: withKind(schema, kindNames.find((each) => each === value) ?? 'other') })
              }
            >
              {kindNames.map((each) => (
                <option key={each} value={each}>
                  {kindLabels[each]}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Title">
          {(attributes) => (
            <input
              {...attributes}
              autocomplete="off"
              value={textIn(schema, 'title') ?? ''}
              onInput={(event) => onChange({ schema: withText(schema, 'title', event.currentTarget.value) })}
            />
          )}
        </Field>
        <label class="required">
          <input
            type="checkbox"
            checked={isRequired}
            onChange={(event) => onChange({ isRequired: event.currentTarget.checked })}
          />{' '}
          Required
        </label>
        {onUp === undefined ? null : (
          <button type="button" class="small" aria-label={`Move field ${number} up`} onClick={onUp}>
            ↑
          </button>
        )}
        <button type="button" class="small" aria-label={`Remove field ${number}`} onClick={onRemove}>
          <Icon name="close" />
        </button>
      </div>
      {kind === 'choice' ? (
        <Field label="Choices, one on each line">
          {(attributes) => (
            <textarea
              {...attributes}
              rows={3}
              defaultValue={choiceLines(schema)}
              onInput={(event) => onChange({ schema: withChoices(schema, event.currentTarget.value) })}
            />
          )}
        </Field>
      ) : null}
    </fieldset>
  );
}
