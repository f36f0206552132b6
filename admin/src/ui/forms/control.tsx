// The control of one value in a form: it is chosen once, so that it never changes under the hands of the user.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { numberText, textIn, type FieldShape } from '../../core/json-schema.ts';
import { displayText, indentJson } from '../../core/json-text.ts';
import type { FieldAttributes } from '../parts.tsx';
import { useTyped } from './form-hooks.ts';

export interface ControlProps {
  readonly shape: FieldShape;
  /** JSON text; `undefined` without a value. */
  readonly text: string | undefined;
  readonly isRequired: boolean;
  readonly attributes: FieldAttributes;
  readonly onChange: (text: string | undefined) => void;
}

/** Length from which a text gets a field of several lines. */
const longText = 80;
const momentPattern = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:[Zz]|[+-]\d\d:\d\d)$/;

export function Control(props: ControlProps): JSX.Element {
  const { shape, text } = props;
  // A value of another type than the schema says is edited as JSON, and stays so until the view is left.
  const isJson = useRef(false);
  isJson.current ||= shape.type === 'json' || !fits(shape, text);
  if (isJson.current) return <JsonControl {...props} />;
  return shape.type === 'enum' || shape.type === 'boolean' ? <ChoiceControl {...props} /> : <TextControl {...props} />;
}

/** Returns whether a value can be edited in the field of its schema. */
export function fits({ type }: FieldShape, text: string | undefined): boolean {
  if (text === undefined) return true;
  if (type === 'array') return text.startsWith('[');
  if (type === 'object') return text.startsWith('{');
  return !/^[[{]/.test(text);
}

function ChoiceControl({ shape, text, attributes, onChange }: ControlProps): JSX.Element {
  const known =
    shape.type === 'enum'
      ? shape.choices
      : ['true', 'false', ...(shape.isNullable ? ['null'] : [])].map((value) => ({ value, label: value }));
  const isKnown = text === undefined || known.some(({ value }) => value === text);
  const all = isKnown ? known : [...known, { value: text, label: displayText(text) }];
  return (
    <select
      {...attributes}
      value={text ?? ''}
      onChange={({ currentTarget: { value } }) => onChange(value === '' ? undefined : value)}
    >
      <option value="">—</option>
      {all.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}

function TextControl({ shape, text, isRequired, attributes, onChange }: ControlProps): JSX.Element {
  const { type, schema, isNullable } = shape;
  const isNull = text === undefined || (isNullable && text === 'null');
  const shown = isNull ? '' : displayText(text);
  const isFirst = useRef(true);
  const isLong = useRef(false);
  // Typing never replaces the element. Line ends cannot be typed into a field of one line, only arrive from elsewhere.
  isLong.current ||= type === 'string' && ((isFirst.current && shown.length > longText) || shown.includes('\n'));
  isFirst.current = false;
  const change = (typed: string): void => {
    if (typed === '') onChange(isNullable && isRequired ? 'null' : undefined);
    else onChange(type === 'number' ? numberText(typed) : JSON.stringify(typed));
  };
  if (isLong.current) {
    return (
      <textarea {...attributes} rows={6} value={shown} onInput={({ currentTarget }) => change(currentTarget.value)} />
    );
  }
  const format = textIn(schema, 'format');
  if (format === 'date' && (shown === '' || /^\d{4}-\d\d-\d\d$/.test(shown))) {
    return (
      <input {...attributes} type="date" value={shown} onInput={({ currentTarget }) => change(currentTarget.value)} />
    );
  }
  if (format === 'date-time' && (shown === '' || momentPattern.test(shown))) {
    return (
      <input
        {...attributes}
        type="datetime-local"
        step="any"
        title={shown === '' ? 'Local time' : `Local time of ${shown}`}
        value={localOf(shown)}
        onInput={({ currentTarget }) => change(instantOf(currentTarget.value))}
      />
    );
  }
  return (
    <input
      {...attributes}
      type="text"
      inputMode={type === 'number' ? 'decimal' : undefined}
      autocomplete="off"
      placeholder={isNull && text !== undefined ? 'null' : undefined}
      value={shown}
      onInput={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}

/** Returns the local time of an instant, as the browser's field writes it. */
function localOf(instant: string): string {
  const time = new Date(instant);
  if (Number.isNaN(time.getTime())) return '';
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString();
  return local.replace(/(?::00)?\.000Z$|Z$/, '');
}

function instantOf(local: string): string {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString().replace('.000Z', 'Z');
}

/** A value as JSON. What is not valid JSON keeps the form from being sent. */
function JsonControl({ text, attributes, onChange }: ControlProps): JSX.Element {
  const [typed, setTyped] = useTyped({
    value: text ?? '',
    valueOf: (each) => each.trim(),
    textOf: indentJson,
  });
  const element = useRef<HTMLTextAreaElement>(null);
  const fault = faultOfValue(typed);
  useLayoutEffect(() => element.current?.setCustomValidity(fault ?? ''), [fault]);
  return (
    <>
      <textarea
        {...attributes}
        ref={element}
        class="json-value"
        rows={Math.min(Math.max(typed.split('\n').length, 1), 12)}
        spellcheck={false}
        autocomplete="off"
        placeholder='JSON, such as 5, "text", [1, 2] or {}'
        value={typed}
        onInput={({ currentTarget: { value } }) => {
          setTyped(value);
          if (faultOfValue(value) === undefined) onChange(value.trim() === '' ? undefined : value.trim());
        }}
      />
      {fault === undefined ? null : <small class="fault">{fault}</small>}
    </>
  );
}

function faultOfValue(typed: string): string | undefined {
  if (typed.trim() === '') return undefined;
  try {
    JSON.parse(typed);
    return undefined;
  } catch (error) {
    return `This is not valid JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}
