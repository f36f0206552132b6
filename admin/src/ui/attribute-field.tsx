// The field for the name of an attribute: suggests known ones, and accepts any other.
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { Field } from './parts.tsx';

export interface AttributeFieldProps {
  readonly label: string;
  readonly fault?: string | undefined;
  /** Attributes to choose from. */
  readonly known: readonly string[];
  readonly value: string;
  readonly onInput: (name: string) => void;
}

export function AttributeField({ label, fault, known, value, onInput }: AttributeFieldProps): JSX.Element {
  const choices = useId();
  return (
    <Field label={label} fault={fault}>
      {(attributes) => (
        <>
          <input
            {...attributes}
            list={choices}
            required
            autocomplete="off"
            spellcheck={false}
            value={value}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
          <datalist id={choices}>
            {known.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
