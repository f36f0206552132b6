// The form of an object with a JSON Schema. Each field holds the JSON text of its value, so numbers keep their digits; members
// that the schema does not name keep their places.
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { FieldFault } from '../../core/errors.ts';
import { emptyValueOf, propertiesOf, resolved, shapeOf, textIn, type FieldShape } from '../../core/json-schema.ts';
import { elementsOf, memberText, membersOf, previewText, withMember } from '../../core/json-text.ts';
import { Icon } from '../icons.tsx';
import { Field } from '../parts.tsx';
import { Control, fits } from './control.tsx';
import { useAddedFocus, useRowKeys } from './form-hooks.ts';

export interface SchemaFormProps {
  readonly schema: string;
  /** The whole schema, with the definitions that `$ref` names; by default `schema`. */
  readonly root?: string;
  /** JSON text of an object. */
  readonly text: string;
  readonly faults: readonly FieldFault[];
  readonly onChange: (text: string) => void;
  readonly depth?: number;
  /** Names from the record to this object, for the refusals of the service. */
  readonly path?: string;
}

/** Depth at which absent objects become JSON, so that schemas that contain themselves end. */
const maxAbsentDepth = 3;

export function SchemaForm({
  schema,
  root = schema,
  text,
  faults,
  onChange,
  depth = 0,
  path = '',
}: SchemaFormProps): JSX.Element {
  const properties = propertiesOf(resolved(schema, root));
  const known = new Set(properties.map(({ key }) => key));
  const others = membersOf(text).filter(({ key }) => !known.has(key));
  return (
    <div class="schema-form">
      {properties.map(({ key, schema: property, isRequired }) => (
        <Value
          key={key}
          path={path === '' ? key : `${path}.${key}`}
          label={`${textIn(resolved(property, root), 'title') ?? key}${isRequired ? ' *' : ''}`}
          schema={property}
          root={root}
          isRequired={isRequired}
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
  readonly path: string;
  readonly label: string;
  readonly schema: string;
  readonly root: string;
  readonly isRequired: boolean;
  /** JSON text; `undefined` when the object lacks the member. */
  readonly text: string | undefined;
  readonly faults: readonly FieldFault[];
  readonly depth: number;
  readonly onChange: (text: string | undefined) => void;
}

function Value(props: ValueProps): JSX.Element {
  const { label, root, text, faults, path, depth, isRequired, onChange } = props;
  const shape = shapeOf(props.schema, root, depth);
  const hint = textIn(shape.schema, 'description');
  const fault = faults.find(({ name }) => name === path)?.description;
  // Once a value is edited as JSON, it stays so until the view is left.
  const isJson = useRef(false);
  isJson.current ||= !fits(shape, text) || (shape.type === 'object' && text === undefined && depth >= maxAbsentDepth);
  if (shape.type === 'object' && !isJson.current) {
    return (
      <fieldset>
        <legend>{label}</legend>
        {hint === undefined ? null : <small>{hint}</small>}
        <SchemaForm
          schema={shape.schema}
          root={root}
          text={text ?? '{}'}
          faults={faults}
          depth={depth + 1}
          path={path}
          onChange={(next) => onChange(next === '{}' && text === undefined ? undefined : next)}
        />
      </fieldset>
    );
  }
  if (shape.type === 'array' && !isJson.current) return <List {...props} shape={shape} />;
  const asJson: FieldShape = shape.type === 'array' || shape.type === 'object' ? { ...shape, type: 'json' } : shape;
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(attributes) => (
        <Control shape={asJson} text={text} isRequired={isRequired} attributes={attributes} onChange={onChange} />
      )}
    </Field>
  );
}

function List({
  shape,
  root,
  label,
  text = '[]',
  faults,
  path,
  depth,
  onChange,
}: ValueProps & { readonly shape: FieldShape }): JSX.Element {
  const items = memberText(shape.schema, 'items') ?? '{}';
  const elements = elementsOf(text);
  const rows = useRowKeys(elements.length);
  const { list, markAdded } = useAddedFocus<HTMLFieldSetElement>(elements.length);
  const hint = textIn(shape.schema, 'description');
  const fault = faults.find(({ name }) => name === path)?.description;
  const name = label.replace(/ \*$/, '');
  const change = (next: readonly string[]): void => onChange(`[${next.join(',')}]`);
  return (
    <fieldset class="array" ref={list}>
      <legend>{label}</legend>
      {hint === undefined ? null : <small>{hint}</small>}
      {fault === undefined ? null : <small class="fault">{fault}</small>}
      {elements.map((element, index) => (
        <div class="element" key={rows.keys[index]}>
          <Value
            path={`${path}.${index}`}
            label={`${name} ${index + 1}`}
            schema={items}
            root={root}
            isRequired
            text={element}
            faults={faults}
            depth={depth + 1}
            onChange={(next) => change(elements.with(index, next ?? emptyValueOf(items, root)))}
          />
          <button
            type="button"
            class="plain"
            aria-label={`Remove ${label} ${index + 1}`}
            onClick={() => {
              rows.remove(index);
              change(elements.toSpliced(index, 1));
            }}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
      <button
        type="button"
        class="small"
        onClick={() => {
          markAdded();
          change([...elements, emptyValueOf(items, root)]);
        }}
      >
        <Icon name="plus" /> Add to {name}
      </button>
    </fieldset>
  );
}
