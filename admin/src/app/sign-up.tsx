// The form that creates an account, for services where everyone may do so.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { createAccount } from '../core/accounts.ts';
import { Api } from '../core/api.ts';
import { basicSession, type Session } from '../core/storage.ts';
import { useAttempt } from '../ui/hooks.ts';
import { Button, FailureNote, Field } from '../ui/parts.tsx';

const namePattern = String.raw`[A-Za-z0-9][A-Za-z0-9+.@_\-]*`;

/**
 * `open` creates an account. So does `confirmed`, with an e-mail address that a mail must confirm before the first sign-in.
 * `basic` only agrees on a name and a password: with Basic authentication they are a user already.
 */
export type SignUpKind = 'open' | 'confirmed' | 'basic';

export interface SignUpProps {
  readonly kind: SignUpKind;
  readonly enter: (session: Session) => void;
  readonly onClose: () => void;
}

export function SignUp({ kind, enter, onClose }: SignUpProps): JSX.Element {
  const isConfirmed = kind === 'confirmed';
  const isBasic = kind === 'basic';
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const [isSent, setSent] = useState(false);
  const { error, isBusy, attempt } = useAttempt();
  const create = (): Promise<void> =>
    attempt(async () => {
      if (password !== again) throw new Error('The two passwords differ.');
      if (!isBasic) await createAccount(new Api(undefined), name, password);
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
      aria-label={isBasic ? 'Create a user' : 'Create an account'}
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <Field
        label={isConfirmed ? 'E-mail address' : 'Name'}
        hint={
          isConfirmed
            ? undefined
            : isBasic
              ? 'Name and password together are the user. Neither can be changed later.'
              : 'Letters, digits and + . @ _ -. It cannot be changed later.'
        }
      >
        {(attributes) => (
          <input
            {...attributes}
            autocomplete="username"
            autofocus
            required
            spellcheck={false}
            {...(kind === 'open' ? { pattern: namePattern } : isBasic ? { pattern: '[^:]+' } : {})}
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
        {isBasic ? 'Create the user' : 'Create the account'}
      </button>
      <Button class="wide" onClick={onClose}>
        Back to the sign-in
      </Button>
    </form>
  );
}
