// The builder of a common schema: a row for each field, with its name, kind, title and whether records need it. Objects and
// lists of objects have fields of their own.
import type { JSX } from 'preact';
import { Field } from '../../ui/parts.tsx';
import { useAddedFocus, useRowKeys, useTyped } from '../../ui/forms/form-hooks.ts';
import { Icon } from '../../ui/icons.tsx';
import { textIn } from '../../core/json-schema.ts';
import { memberText, withMember } from '../../core/json-text.ts';
import {
  allowsOthers,
  choiceLines,
  distinctLines,
  fieldsOf,
  kindLabels,
  kindOf,
  withChoices,
  withFields,
  withKind,
  withOthers,
  withText,
  type FieldKind,
  type SchemaField,
} from './fields.ts';
import { MoreKeywords } from './more-keywords.tsx';

export interface BuilderProps {
  readonly fields: readonly SchemaField[];
  readonly allowsOthers: boolean;
  readonly onChange: (fields: readonly SchemaField[]) => void;
  readonly onOthers: (isAllowed: boolean) => void;
  /** Name of the object that the fields belong to; `''` for records. */
  readonly owner?: string;
}

const kindNames = Object.keys(kindLabels) as readonly FieldKind[];
const newField: SchemaField = { name: '', isRequired: false, schema: '{"type":"string"}' };

export function Builder({ fields, allowsOthers: isOpen, onChange, onOthers, owner = '' }: BuilderProps): JSX.Element {
  const rows = useRowKeys(fields.length);
  const { list, markAdded } = useAddedFocus<HTMLDivElement>(fields.length);
  const change = (index: number, part: Partial<SchemaField>): void =>
    onChange(fields.map((field, at) => (at === index ? { ...field, ...part } : field)));
  return (
    <div class="builder" ref={list}>
      {fields.map((field, index) => (
        <FieldRow
          key={rows.keys[index]}
          field={field}
          title={`Field ${index + 1}${owner === '' ? '' : ` of ${owner}`}`}
          onChange={(part) => change(index, part)}
          onRemove={() => {
            rows.remove(index);
            onChange(fields.toSpliced(index, 1));
          }}
          onUp={
            index === 0
              ? undefined
              : () => {
                  rows.moveUp(index);
                  onChange(fields.toSpliced(index, 1).toSpliced(index - 1, 0, field));
                }
          }
        />
      ))}
      <p>
        <button
          type="button"
          class="small"
          onClick={() => {
            markAdded();
            onChange([...fields, newField]);
          }}
        >
          <Icon name="plus" /> Add a field{owner === '' ? '' : ` to ${owner}`}
        </button>
      </p>
      <p>
        <label>
          <input type="checkbox" checked={isOpen} onChange={(event) => onOthers(event.currentTarget.checked)} />{' '}
          {owner === '' ? 'Records may have other attributes' : `${owner} may have other attributes`}
        </label>
      </p>
    </div>
  );
}

interface FieldRowProps {
  readonly field: SchemaField;
  readonly title: string;
  readonly onChange: (part: Partial<SchemaField>) => void;
  readonly onRemove: () => void;
  /** `undefined` for the first field. */
  readonly onUp: (() => void) | undefined;
}

function FieldRow({ field, title, onChange, onRemove, onUp }: FieldRowProps): JSX.Element {
  const { name, isRequired, schema } = field;
  const number = title.charAt(0).toLowerCase() + title.slice(1);
  const setSchema = (next: string): void => onChange({ schema: next });
  return (
    <fieldset class="element">
      <legend>{title}</legend>
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
        <KindField label="Kind" schema={schema} onChange={setSchema} />
        <Field label="Title">
          {(attributes) => (
            <input
              {...attributes}
              autocomplete="off"
              value={textIn(schema, 'title') ?? ''}
              onInput={(event) => setSchema(withText(schema, 'title', event.currentTarget.value))}
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
          <button type="button" class="small" aria-label={`Move ${number} up`} onClick={onUp}>
            ↑
          </button>
        )}
        <button type="button" class="small" aria-label={`Remove ${number}`} onClick={onRemove}>
          <Icon name="close" />
        </button>
      </div>
      <Contents owner={name} schema={schema} onChange={setSchema} />
      <MoreKeywords key={kindOf(schema)} kind={kindOf(schema)} schema={schema} onChange={setSchema} />
    </fieldset>
  );
}

interface PartProps {
  readonly schema: string;
  readonly onChange: (schema: string) => void;
}

function KindField({ label, schema, onChange }: PartProps & { readonly label: string }): JSX.Element {
  return (
    <Field label={label}>
      {(attributes) => (
        <select
          {...attributes}
          value={kindOf(schema)}
          onChange={({ currentTarget: { value } }) =>
            onChange(withKind(schema, kindNames.find((each) => each === value) ?? 'other'))
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
  );
}

/** What is in a value: the choices, the kind of the elements, the fields of an object. */
function Contents({ owner, schema, onChange }: PartProps & { readonly owner: string }): JSX.Element | null {
  switch (kindOf(schema)) {
    case 'choice':
      return <Choices schema={schema} onChange={onChange} />;
    case 'list': {
      const items = memberText(schema, 'items') ?? '{}';
      const change = (next: string): void => onChange(withMember(schema, 'items', next));
      return (
        <>
          <div class="row">
            <KindField label="Kind of the elements" schema={items} onChange={change} />
          </div>
          <Contents owner={`each of ${owner}`} schema={items} onChange={change} />
        </>
      );
    }
    case 'object':
      return (
        <Builder
          owner={owner === '' ? 'the object' : owner}
          fields={fieldsOf(schema)}
          allowsOthers={allowsOthers(schema)}
          onChange={(fields) => onChange(withFields(schema, fields))}
          onOthers={(isAllowed) => onChange(withOthers(schema, isAllowed))}
        />
      );
    default:
      return null;
  }
}

function Choices({ schema, onChange }: PartProps): JSX.Element {
  const [typed, setTyped] = useTyped({
    value: choiceLines(schema),
    valueOf: (lines) => distinctLines(lines).join('\n'),
    textOf: (lines) => lines,
  });
  return (
    <Field label="Choices, one on each line">
      {(attributes) => (
        <textarea
          {...attributes}
          rows={3}
          value={typed}
          onInput={({ currentTarget: { value } }) => {
            setTyped(value);
            onChange(withChoices(schema, value));
          }}
        />
      )}
    </Field>
  );
}
