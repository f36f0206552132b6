// Attributes as a form from the JSON Schema of the collection, or as JSON text; the user switches between both.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FieldFault } from '../../core/errors.ts';
import { indentJson } from '../../core/json-text.ts';
import { faultOfObject } from '../../core/json-text.ts';
import { propertiesOf } from '../../core/json-schema.ts';
import { readChoice, writeChoice } from '../../core/storage.ts';
import { JsonEditor } from '../json-editor.tsx';
import { SchemaForm } from './schema-form.tsx';

type Mode = 'form' | 'json';

export interface AttributesEditorProps {
  readonly text: string;
  readonly onChange: (text: string) => void;
  /** JSON Schema as text. */
  readonly schema: string | undefined;
  readonly faults: readonly FieldFault[];
}

export function AttributesEditor({ text, onChange, schema, faults }: AttributesEditorProps): JSX.Element {
  const [mode, setMode] = useState<Mode>(readMode);
  const hasForm = schema !== undefined && propertiesOf(schema).length > 0;
  const isObject = faultOfObject(text) === undefined;
  const shown = hasForm && isObject ? mode : 'json';
  const change = (next: Mode): void => {
    setMode(next);
    writeChoice('editor', { mode: next });
    if (isObject) onChange(indentJson(text));
  };
  return (
    <div class="attributes">
      {hasForm ? (
        <div class="switch" role="group" aria-label="Editor">
          {(['form', 'json'] as const).map((each) => (
            <button
              key={each}
              type="button"
              class="small"
              aria-pressed={shown === each}
              disabled={!isObject && each === 'form'}
              title={!isObject && each === 'form' ? 'Correct the JSON first' : undefined}
              onClick={() => change(each)}
            >
              {each === 'form' ? 'Form' : 'JSON'}
            </button>
          ))}
        </div>
      ) : null}
      {shown === 'form' && schema !== undefined ? (
        <SchemaForm schema={schema} text={text} faults={faults} onChange={onChange} />
      ) : (
        <JsonEditor
          label="Attributes (JSON)"
          text={text}
          hint="Numbers and keys are kept exactly as written. Ctrl+S saves."
          onChange={onChange}
        />
      )}
    </div>
  );
}

function readMode(): Mode {
  return readChoice('editor', ({ mode }) => (mode === 'json' ? 'json' : undefined)) ?? 'form';
}
