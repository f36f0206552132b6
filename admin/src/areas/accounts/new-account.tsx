// The form for a new account. Its password is generated or typed, and shown once.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { createAccount } from '../../core/accounts.ts';
import { pageHashOf } from '../../core/places.ts';
import { navigate } from '../../core/router.ts';
import { useApp } from '../../ui/app-context.ts';
import { useAttempt, useWork } from '../../ui/hooks.ts';
import { Button, FailureNote, Field } from '../../ui/parts.tsx';
import { generatePassword } from './account-row.ts';
import { showPassword } from './shown-password.tsx';

export function NewAccount(): JSX.Element {
  const { api, service } = useApp();
  const [id, setId] = useState('');
  const [password, setPassword] = useState(generatePassword);
  const { error, isBusy, attempt } = useAttempt();
  // Only the name is kept as a draft.
  const work = useWork(`${service.userId ?? ''}.new.accounts`, { text: id, original: '', etag: '' });
  const create = (): Promise<void> =>
    attempt(async () => {
      await createAccount(api, id, password);
      work.finish();
      await showPassword(id, password);
      navigate(pageHashOf('accounts'));
    });
  return (
    <form
      class="editor create"
      aria-label="New account"
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <h2>New account</h2>
      <Field label="Name" hint="Letters, digits and + . @ _ -. It cannot be changed later.">
        {(attributes) => (
          <input
            {...attributes}
            required
            autocomplete="off"
            spellcheck={false}
            pattern="[A-Za-z0-9][A-Za-z0-9+.@_\-]*"
            value={id}
            onInput={(event) => setId(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Password" hint="The user can change it on this page after the first sign-in.">
        {(attributes) => (
          <input
            {...attributes}
            required
            autocomplete="off"
            spellcheck={false}
            value={password}
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        )}
      </Field>
      <FailureNote error={error} />
      <div class="actions">
        <button type="submit" class="primary" data-key="save" disabled={isBusy}>
          Create account
        </button>
        <Button onClick={() => setPassword(generatePassword())}>Generate another password</Button>
        <a class="button" href={pageHashOf('accounts')}>
          Cancel
        </a>
      </div>
    </form>
  );
}
