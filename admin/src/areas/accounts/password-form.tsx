// The form for a password: of the own account, or of a new one.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { pageHashOf } from '../../core/places.ts';
import { navigate } from '../../core/router.ts';
import { basicSession, writeSession } from '../../core/storage.ts';
import { useApp } from '../../ui/app-context.ts';
import { useAttempt } from '../../ui/hooks.ts';
import { FailureNote, Field } from '../../ui/parts.tsx';
import { setPassword } from './account-row.ts';

export function OwnPassword({ id, isOpen, isDone }: OwnPasswordProps): JSX.Element {
  const { api } = useApp();
  const [typed, setTyped] = useState('');
  const [again, setAgain] = useState('');
  const { error, isBusy, attempt } = useAttempt();
  const change = (): Promise<void> =>
    attempt(async () => {
      if (typed !== again) throw new Error('The two passwords differ. Type the same password twice.');
      await setPassword(api, id, typed);
      // The old password no longer signs in: the page starts again with the new one.
      writeSession(basicSession(id, typed));
      navigate(pageHashOf('accounts', { _view: 'changed' }), { replaces: true });
      location.reload();
    });
  return (
    <details class="panel" open={isOpen || isDone}>
      <summary>Change my password</summary>
      {isDone ? (
        <p class="note" role="status">
          The password is changed.
        </p>
      ) : null}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void change();
        }}
      >
        <input
          type="text"
          class="hidden"
          aria-hidden="true"
          tabIndex={-1}
          autocomplete="username"
          value={id}
          readOnly
        />
        <div class="row">
          {(
            [
              ['New password', typed, setTyped],
              ['New password again', again, setAgain],
            ] as const
          ).map(([label, value, set]) => (
            <Field key={label} label={label}>
              {(attributes) => (
                <input
                  {...attributes}
                  type="password"
                  required
                  autocomplete="new-password"
                  value={value}
                  onInput={(event) => set(event.currentTarget.value)}
                />
              )}
            </Field>
          ))}
          <button type="submit" disabled={isBusy}>
            Change password
          </button>
        </div>
        <FailureNote error={error} />
      </form>
    </details>
  );
}

export interface OwnPasswordProps {
  readonly id: string;
  readonly isOpen: boolean;
  /** Whether the password has just been changed. */
  readonly isDone: boolean;
}
