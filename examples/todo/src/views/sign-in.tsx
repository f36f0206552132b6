// The form to sign in, or to create an account.
import type { JSX, TargetedSubmitEvent } from 'preact';
import { useState } from 'preact/hooks';
import { explain, signIn, signUp, type Session } from '../session.ts';
import { textOf } from './form.ts';

export function SignIn({ onSignedIn }: { readonly onSignedIn: (session: Session) => void }): JSX.Element {
  const [failure, setFailure] = useState('');

  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const credentials = { name: textOf(form, 'name'), password: textOf(form, 'password') };
    const isNew = (event.submitter as HTMLButtonElement | null)?.value === 'new';
    (isNew ? signUp : signIn)(credentials).then(onSignedIn, (error: unknown) => setFailure(explain(error)));
  };

  return (
    <main class="sign-in">
      <h1>To do</h1>
      <form onSubmit={submit}>
        <label>
          Name <input name="name" autocomplete="username" required pattern="[A-Za-z0-9][\w.@+\-]*" />
        </label>
        <label>
          Password <input name="password" type="password" autocomplete="current-password" required minLength={8} />
        </label>
        <p role="alert">{failure}</p>
        <button value="known">Sign in</button>
        <button value="new">Create account</button>
      </form>
    </main>
  );
}
