// The sign-in page, with the ways to sign in that the service offers.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { serviceUrl } from '../core/api.ts';
import type { Provider, Service } from '../core/service.ts';
import { basicSession, beginLogin, type Session } from '../core/storage.ts';
import { Button, Field } from '../ui/parts.tsx';
import { SignUp, type SignUpKind } from './sign-up.tsx';

export interface SignInProps {
  readonly service: Service;
  readonly complaint: string | undefined;
  readonly enter: (session: Session | undefined) => void;
}

export function SignIn({ service, complaint, enter }: SignInProps): JSX.Element {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [token, setToken] = useState('');
  const [isSigningUp, setSigningUp] = useState(false);
  const kind = signUpOf(service);
  if (isSigningUp && kind !== 'none') {
    return (
      <main class="door">
        <p class="door-brand">Coffer</p>
        <h1 tabIndex={-1}>{kind === 'basic' ? 'Create a user' : 'Create an account'}</h1>
        <SignUp kind={kind} enter={enter} onClose={() => setSigningUp(false)} />
      </main>
    );
  }
  return (
    <main class="door">
      <p class="door-brand">Coffer</p>
      <h1 tabIndex={-1}>Sign in</h1>
      {complaint === undefined ? null : (
        <p class="note bad" role="alert">
          {complaint}
        </p>
      )}
      {service.providers.map((provider) => (
        <Button key={provider.name} class="primary wide" onClick={() => leaveFor(provider)}>
          Sign in with {provider.name}
        </Button>
      ))}
      <form
        aria-label="Sign in"
        onSubmit={(event) => {
          event.preventDefault();
          enter(basicSession(name, password));
        }}
      >
        <Field label="Name">
          {(attributes) => (
            <input
              {...attributes}
              name="name"
              autocomplete="username"
              required
              autofocus
              value={name}
              onInput={(event) => setName(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Password" hint={passwordHint(service)}>
          {(attributes) => (
            <input
              {...attributes}
              name="password"
              type="password"
              autocomplete="current-password"
              value={password}
              onInput={(event) => setPassword(event.currentTarget.value)}
            />
          )}
        </Field>
        <button type="submit" class="primary wide">
          Sign in
        </button>
      </form>
      {kind === 'none' ? null : (
        <Button class="wide" onClick={() => setSigningUp(true)}>
          {kind === 'basic' ? 'Create a user' : 'Create an account'}
        </Button>
      )}
      <Button class="wide" onClick={() => enter(undefined)}>
        Explore without signing in
      </Button>
      <details>
        <summary>Other ways</summary>
        <form
          aria-label="Sign in with a token"
          onSubmit={(event) => {
            event.preventDefault();
            enter({ authorization: `Bearer ${token.trim()}`, label: 'token' });
          }}
        >
          <Field label="Bearer token">
            {(attributes) => (
              <input
                {...attributes}
                type="password"
                autocomplete="off"
                required
                value={token}
                onInput={(event) => setToken(event.currentTarget.value)}
              />
            )}
          </Field>
          <button type="submit" class="wide">
            Sign in with the token
          </button>
        </form>
      </details>
      <p class="hint">
        This is {service.projectName} {service.version}. You stay signed in until this tab is closed.
      </p>
    </main>
  );
}

/** Returns how visitors become users here: with Basic authentication a name and a password are enough. */
function signUpOf({ capabilities, signUp }: Service): SignUpKind | 'none' {
  if (signUp !== 'none') return signUp;
  return capabilities.has('basicauth') && !capabilities.has('accounts') ? 'basic' : 'none';
}

/** Explains which names and passwords the service accepts. */
function passwordHint({ capabilities, signUp }: Service): string {
  const basic =
    'each name with its password is a user: a new name is a new, empty user, and so is a known name with a mistyped password.';
  if (!capabilities.has('accounts')) return `With Basic authentication ${basic}`;
  const accounts =
    signUp === 'none'
      ? 'Use your account on this service. Administrators create accounts; the operator creates the first one with "coffer create-user".'
      : 'Use your account on this service.';
  return capabilities.has('basicauth') ? `${accounts} Without an account, ${basic}` : accounts;
}

/** Redirects to a provider, which redirects back here with tokens. */
function leaveFor({ name, auth_path: path, header_type: headerType }: Provider): void {
  beginLogin(name, headerType);
  const login = new URL(path.replace(/^\//, ''), serviceUrl);
  const here = new URL(location.pathname, location.origin);
  login.searchParams.set('callback', `${here.href}#tokens=`);
  login.searchParams.set('scope', 'openid email');
  location.assign(login);
}
