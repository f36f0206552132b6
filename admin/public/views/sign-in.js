// The sign-in page, with the ways to sign in that the service offers.
import { button, field, form, h } from '../dom.js';
import { serviceUrl } from '../api.js';
import { basicSession, beginLogin } from '../session.js';

/**
 * @typedef {import('../session.js').Session} Session
 * @typedef {{
 *   readonly service: import('../context.js').Service, readonly complaint: string | undefined,
 *   readonly enter: (session: Session | undefined) => void,
 * }} Door
 */

/** @param {Door} door @returns {HTMLElement} */
export function signInView({ service, complaint, enter }) {
  const name = h('input', { name: 'name', autocomplete: 'username', required: true, autofocus: true });
  const password = h('input', { name: 'password', type: 'password', autocomplete: 'current-password' });
  const hasAccounts = service.capabilities.has('accounts');
  const hint = hasAccounts
    ? 'Use your account on this service.'
    : 'With Basic authentication, each combination of name and password is a separate user.';
  const token = h('input', { type: 'password', autocomplete: 'off', required: true });
  return h(
    'main',
    { class: 'door' },
    h('h1', { tabindex: '-1' }, 'Sign in'),
    complaint === undefined ? undefined : h('p', { class: 'note bad', role: 'alert' }, complaint),
    ...service.providers.map((provider) =>
      button(`Sign in with ${provider.name}`, () => leaveFor(provider), { class: 'primary wide' }),
    ),
    form(
      () => enter(basicSession(name.value, password.value)),
      { 'aria-label': 'Sign in' },
      field('Name', name),
      field('Password', password, hint),
      h('button', { type: 'submit', class: 'primary wide' }, 'Sign in'),
    ),
    h(
      'details',
      {},
      h('summary', {}, 'Other ways'),
      form(
        () => enter({ authorization: `Bearer ${token.value.trim()}`, label: 'token' }),
        { 'aria-label': 'Sign in with a token' },
        field('Bearer token', token),
        h('button', { type: 'submit', class: 'wide' }, 'Sign in with the token'),
      ),
      button('Continue without signing in', () => enter(undefined), { class: 'wide' }),
    ),
    h(
      'p',
      { class: 'hint' },
      `This is ${service.projectName} ${service.version}. You stay signed in until this tab is closed.`,
    ),
  );
}

/** Redirects to a provider, which redirects back here with tokens. @param {import('../context.js').Provider} provider */
function leaveFor({ name, auth_path: path, header_type: headerType }) {
  beginLogin(name, headerType);
  const login = new URL(path.replace(/^\//, ''), serviceUrl);
  const here = new URL(location.pathname, location.origin);
  login.searchParams.set('callback', `${here.href}#tokens=`);
  login.searchParams.set('scope', 'openid email');
  location.assign(login);
}
