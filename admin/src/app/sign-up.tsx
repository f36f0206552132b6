// The form that creates an account, for services where everyone may do so.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { createAccount } from '../core/accounts.ts';
import { Api } from '../core/api.ts';
import { basicSession, type Session } from '../core/storage.ts';
import { useAttempt } from '../ui/hooks.ts';
import { Button, FailureNote, Field } from '../ui/parts.tsx';

const namePattern = String.raw`[A-Za-z0-9][A-Za-z0-9+.@_\-]*`;

export interface SignUpProps {
  /** Whether the name is an e-mail address, which a mail must confirm before the first sign-in. */
  readonly isConfirmed: boolean;
  readonly enter: (session: Session) => void;
  readonly onClose: () => void;
}

export function SignUp({ isConfirmed, enter, onClose }: SignUpProps): JSX.Element {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const [isSent, setSent] = useState(false);
  const { error, isBusy, attempt } = useAttempt();
  const create = (): Promise<void> =>
    attempt(async () => {
      if (password !== again) throw new Error('The two passwords differ.');
      await createAccount(new Api(undefined), name, password);
      if (isConfirmed) setSent(true);
      else enter(basicSession(name, password));
    });
  if (isSent) {
    return (
      <>
        <p class="note" role="status">
          The service has sent a mail to {name}. Confirm the address as the mail describes, then sign in.
        </p>
        <Button class="wide" onClick={onClose}>
          Back to the sign-in
        </Button>
      </>
    );
  }
  return (
    <form
      aria-label="Create an account"
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <Field
        label={isConfirmed ? 'E-mail address' : 'Name'}
        hint={isConfirmed ? undefined : 'Letters, digits and + . @ _ -. It cannot be changed later.'}
      >
        {(attributes) => (
          <input
            {...attributes}
            autocomplete="username"
            autofocus
            required
            spellcheck={false}
            {...(isConfirmed ? {} : { pattern: namePattern })}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        )}
      </Field>
      {(
        [
          ['Password', password, setPassword],
          ['Password again', again, setAgain],
        ] as const
      ).map(([label, value, set]) => (
        <Field key={label} label={label}>
          {(attributes) => (
            <input
              {...attributes}
              type="password"
              autocomplete="new-password"
              required
              value={value}
              onInput={(event) => set(event.currentTarget.value)}
            />
          )}
        </Field>
      ))}
      <FailureNote error={error} />
      <button type="submit" class="primary wide" disabled={isBusy}>
        Create the account
      </button>
      <Button class="wide" onClick={onClose}>
        Back to the sign-in
      </Button>
    </form>
  );
}
