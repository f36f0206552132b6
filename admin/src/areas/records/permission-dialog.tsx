// The dialog that asks which principals get or lose a permission on the selected records.
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Place } from '../../core/places.ts';
import { principalCheck } from '../../core/principals.ts';
import { AppContext, type App } from '../../ui/app-context.ts';
import { Dialog, openDialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Field, Principal } from '../../ui/parts.tsx';
import { PrincipalPicker } from '../../ui/principal-picker.tsx';
import type { PermissionChange } from './bulk.ts';

export interface PermissionQuestion {
  readonly app: App;
  /** The collection of the records. */
  readonly place: Place;
  /** Such as `2 records`. */
  readonly count: string;
}

export function askForPermission({ app, ...question }: PermissionQuestion): Promise<PermissionChange | undefined> {
  // Dialogs are outside of the frame.
  return openDialog<PermissionChange>((close) => (
    <AppContext.Provider value={app}>
      <PermissionDialog app={app} {...question} close={close} />
    </AppContext.Provider>
  ));
}

/** Principals that lose a permission need no check. */
const noCheck = (): Promise<undefined> => Promise.resolve(undefined);

function PermissionDialog({
  app,
  place,
  count,
  close,
}: PermissionQuestion & { readonly close: (change?: PermissionChange) => void }): JSX.Element {
  const [action, setAction] = useState<PermissionChange['action']>('add');
  const [permission, setPermission] = useState('read');
  const [principals, setPrincipals] = useState<readonly string[]>([]);
  const [typed, setTyped] = useState('');
  const check = useMemo(() => principalCheck(app.api, app.service), [app]);
  return (
    <Dialog title={`Permissions of ${count}`} onClose={() => close()}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (principals.length > 0) close({ action, permission, principals });
        }}
      >
        <Field label="Change">
          {(attributes) => (
            <select
              {...attributes}
              data-focus=""
              value={action}
              onChange={(event) => setAction(event.currentTarget.value === 'remove' ? 'remove' : 'add')}
            >
              <option value="add">Grant</option>
              <option value="remove">Revoke</option>
            </select>
          )}
        </Field>
        <Field label="Permission">
          {(attributes) => (
            <select {...attributes} value={permission} onChange={(event) => setPermission(event.currentTarget.value)}>
              <option value="read">read</option>
              <option value="write">write</option>
            </select>
          )}
        </Field>
        <PrincipalPicker
          label="Add a principal"
          place={place}
          check={action === 'add' ? check : noCheck}
          onTyped={setTyped}
          onPick={(principal) => setPrincipals((before) => [...new Set([...before, principal])])}
        />
        {principals.length === 0 ? null : (
          <ul class="chips" aria-label="Principals">
            {principals.map((principal) => (
              <li key={principal}>
                <Principal id={principal} />
                <button
                  type="button"
                  aria-label={`Remove ${principal}`}
                  onClick={() => setPrincipals(principals.filter((each) => each !== principal))}
                >
                  <Icon name="close" />
                </button>
              </li>
            ))}
          </ul>
        )}
        <p class="hint">Permissions of the collection and the bucket stay as they are. You stay a writer.</p>
        <div class="actions">
          <button type="submit" class="primary" disabled={principals.length === 0 || typed.trim() !== ''}>
            {action === 'add' ? 'Grant' : 'Revoke'} for {count}
          </button>
          <button type="button" onClick={() => close()}>
            Cancel
          </button>
          {typed.trim() === '' ? null : <span class="quiet">Add the typed principal first.</span>}
        </div>
      </form>
    </Dialog>
  );
}
