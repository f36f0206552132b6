// Keywords of a field that most fields do not need: description, default, limits of numbers, pattern of texts.
import type { JSX } from 'preact';
import { shapeOf, textIn, type FieldShape } from '../../core/json-schema.ts';
import { memberText, withMember } from '../../core/json-text.ts';
import { Control } from '../../ui/forms/control.tsx';
import { Field } from '../../ui/parts.tsx';
import { withText, type FieldKind } from './fields.ts';

export interface MoreKeywordsProps {
  readonly kind: FieldKind;
  readonly schema: string;
  readonly onChange: (schema: string) => void;
}

const numberShape: FieldShape = { type: 'number', schema: '{"type":"number"}', isNullable: false, choices: [] };
/** Kinds whose default is a value of one field. */
const withDefault: readonly FieldKind[] = ['text', 'date', 'moment', 'number', 'integer', 'boolean', 'choice'];

export function MoreKeywords({ kind, schema, onChange }: MoreKeywordsProps): JSX.Element {
  const set = (key: string, value: string | undefined): void => onChange(withMember(schema, key, value));
  const shape = shapeOf(schema, schema);
  // A choice has its list before the first line is typed.
  const defaultShape: FieldShape = kind === 'choice' ? { ...shape, type: 'enum' } : shape;
  return (
    <details class="more">
      <summary>Description, default and limits</summary>
      <div class="row">
        <TextKeyword label="Description" name="description" schema={schema} onChange={onChange} />
        {withDefault.includes(kind) ? (
          <Field label="Default">
            {(attributes) => (
              <Control
                shape={defaultShape}
                text={memberText(schema, 'default')}
                isRequired={false}
                attributes={attributes}
                onChange={(next) => set('default', next)}
              />
            )}
          </Field>
        ) : null}
        {kind === 'number' || kind === 'integer'
          ? (['minimum', 'maximum'] as const).map((key) => (
              <Field key={key} label={key === 'minimum' ? 'Minimum' : 'Maximum'}>
                {(attributes) => (
                  <Control
                    shape={numberShape}
                    text={memberText(schema, key)}
                    isRequired={false}
                    attributes={attributes}
                    onChange={(next) => set(key, next)}
                  />
                )}
              </Field>
            ))
          : null}
        {kind === 'text' ? (
          <TextKeyword label="Pattern (regular expression)" name="pattern" schema={schema} onChange={onChange} />
        ) : null}
      </div>
    </details>
  );
}

interface TextKeywordProps {
  readonly label: string;
  readonly name: string;
  readonly schema: string;
  readonly onChange: (schema: string) => void;
}

function TextKeyword({ label, name, schema, onChange }: TextKeywordProps): JSX.Element {
  return (
    <Field label={label}>
      {(attributes) => (
        <input
          {...attributes}
          autocomplete="off"
          value={textIn(schema, name) ?? ''}
          onInput={(event) => onChange(withText(schema, name, event.currentTarget.value))}
        />
      )}
    </Field>
  );
}
