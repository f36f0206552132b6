// The dialog that asks how to change an attribute of the selected records.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { AttributeField } from '../../ui/attribute-field.tsx';
import { Dialog, openDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/parts.tsx';
import type { FieldChange } from './bulk.ts';

export function askForField(count: string, fields: readonly string[]): Promise<FieldChange | undefined> {
  return openDialog<FieldChange>((close) => <FieldDialog count={count} fields={fields} close={close} />);
}

/** Reading of the typed value as JSON. */
type ValueKind = 'text' | 'json';

interface FieldDialogProps {
  readonly count: string;
  readonly fields: readonly string[];
  readonly close: (change?: FieldChange) => void;
}

function FieldDialog({ count, fields, close }: FieldDialogProps): JSX.Element {
  const [action, setAction] = useState<FieldChange['action']>('set');
  const [field, setField] = useState('');
  const [kind, setKind] = useState<ValueKind>('text');
  const [typed, setTyped] = useState('');
  const fault = action === 'set' && kind === 'json' ? faultOfValue(typed) : undefined;
  const isOwn = ['id', 'last_modified', 'schema', 'attachment'].includes(field.trim());
  const submit = (): void => {
    if (field.trim() === '' || fault !== undefined || isOwn) return;
    if (action === 'remove') close({ action, field: field.trim() });
    else close({ action, field: field.trim(), value: kind === 'json' ? typed.trim() : JSON.stringify(typed) });
  };
  return (
    <Dialog title={`Edit ${count}`} onClose={() => close()}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <Field label="Change">
          {(attributes) => (
            <select
              {...attributes}
              data-focus=""
              value={action}
              onChange={(event) => setAction(event.currentTarget.value === 'remove' ? 'remove' : 'set')}
            >
              <option value="set">Set an attribute</option>
              <option value="remove">Remove an attribute</option>
            </select>
          )}
        </Field>
        <AttributeField
          label="Attribute"
          fault={isOwn ? 'The service maintains this attribute.' : undefined}
          known={fields}
          value={field}
          onInput={setField}
        />
        {action === 'remove' ? null : (
          <>
            <Field label="Kind of value">
              {(attributes) => (
                <select
                  {...attributes}
                  value={kind}
                  onChange={(event) => setKind(event.currentTarget.value === 'json' ? 'json' : 'text')}
                >
                  <option value="text">Text</option>
                  <option value="json">Number or other JSON</option>
                </select>
              )}
            </Field>
            <Field
              label="New value"
              hint={kind === 'json' ? 'For example 5, true, null, ["a"]. Digits are kept as written.' : undefined}
              fault={typed === '' ? undefined : fault}
            >
              {(attributes) => (
                <textarea
                  {...attributes}
                  rows={3}
                  value={typed}
                  onInput={(event) => setTyped(event.currentTarget.value)}
                />
              )}
            </Field>
          </>
        )}
        <div class="actions">
          <button type="submit" class="primary" disabled={field.trim() === '' || fault !== undefined || isOwn}>
            {action === 'set' ? 'Set' : 'Remove'} in {count}
          </button>
          <button type="button" onClick={() => close()}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function faultOfValue(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `This is not valid JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}
