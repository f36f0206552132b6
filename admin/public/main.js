// The start of the console: signs in, follows the address behind `#`, and shows the view it names.
import { Api } from './api.js';
import { failureNote, loadService } from './context.js';
import { fill, h } from './dom.js';
import { ask } from './parts/dialog.js';
import { watchKeys } from './parts/keys.js';
import { parseHash } from './places.js';
import { finishLogin, readSession, writeSession } from './session.js';
import { homeView } from './views/home.js';
import { objectView } from './views/object.js';
import { frame } from './views/frame.js';
import { signInView } from './views/sign-in.js';

/** @typedef {import('./context.js').Context} Context */

const outlet = document.getElementById('app') ?? document.body;
const status = document.getElementById('status');
const sayingMilliseconds = 6000;

let api = new Api(undefined);
/** @type {import('./context.js').Service | undefined} */
let service;
let browsing = false;
let left = new AbortController();
let shownHash = '';
let isDirty = () => false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let sayingTimer;

/** Shows a message. @param {string} text */
function say(text) {
  if (status === null) return;
  status.textContent = text;
  clearTimeout(sayingTimer);
  sayingTimer = setTimeout(() => status.replaceChildren(), sayingMilliseconds);
}

/** Signs in with the session of the tab, or shows the sign-in page. */
async function start() {
  const session = finishLogin(location.hash) ?? readSession();
  api = new Api(session?.authorization);
  try {
    service = await loadService(api);
  } catch (error) {
    fill(outlet, h('main', {}, failureNote(error)));
    return;
  }
  if (session !== undefined && service.userId === undefined) {
    writeSession(undefined);
    showSignIn('The service did not accept the sign-in. Check the name and the password.');
  } else if (session === undefined && !browsing) {
    showSignIn(undefined);
  } else {
    if (session !== undefined) writeSession(session);
    await show();
  }
}

/** @param {string | undefined} complaint */
function showSignIn(complaint) {
  if (service === undefined) return;
  left.abort();
  fill(
    outlet,
    signInView({
      service,
      complaint,
      enter: (session) => {
        browsing = session === undefined;
        writeSession(session);
        void start();
      },
    }),
  );
}

/** Shows the view of the address. */
async function show() {
  if (service === undefined) return;
  left.abort();
  left = new AbortController();
  isDirty = () => false;
  shownHash = location.hash;
  const { signal } = left;
  const route = parseHash(location.hash);
  /** @type {Context} */
  const context = {
    api,
    service,
    route: route ?? { place: [], query: new URLSearchParams() },
    signal,
    say,
    // A view that the user has left must not reload the current view.
    reload: () => void (signal.aborted ? undefined : reload()),
    guard: (isChanged) => {
      if (!signal.aborted) isDirty = isChanged;
    },
  };
  const view = await (route === undefined
    ? Promise.resolve(h('p', { class: 'note' }, 'This page does not exist.'))
    : (route.place.length === 0 ? homeView(context) : objectView(context)).catch(failureNote));
  // The user has moved on to another view meanwhile.
  if (signal.aborted) return;
  const hadFocus = outlet.contains(document.activeElement);
  fill(outlet, frame(context, view, signOut));
  // Marks that this is the view of the current address, and not the one before it.
  outlet.dataset['shown'] = shownHash;
  // On a phone the row of tabs may be wider than the page.
  outlet.querySelector('.tabs [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  const heading = outlet.querySelector('h1');
  if (heading !== null) document.title = `${heading.textContent} · Coffer`;
  if (hadFocus) heading?.focus();
}

/** Reloads the view. */
async function reload() {
  if (await mayLeave()) await show();
}

/** Returns whether nothing would be lost, or the user agrees to lose it. @returns {Promise<boolean>} */
async function mayLeave() {
  if (!isDirty()) return true;
  const text = 'Your unsaved changes will be lost.';
  const isAgreed = await ask({ title: 'Leave without saving?', text, yes: 'Leave', no: 'Stay' });
  if (isAgreed) isDirty = () => false;
  return isAgreed;
}

/** Deletes the session and everything on the page. */
async function signOut() {
  if (!(await mayLeave())) return;
  writeSession(undefined);
  browsing = false;
  location.hash = '#/';
  await start();
}

/** Shows the view of the address, unless the user wants to keep unsaved changes. */
async function follow() {
  if (location.hash === shownHash) return;
  if (location.hash.startsWith('#tokens=')) return start();
  if (isDirty()) {
    const wanted = location.hash;
    history.replaceState(null, '', shownHash === '' ? '#/' : shownHash);
    shownHash = location.hash;
    if (await mayLeave()) location.hash = wanted;
    return;
  }
  if (service !== undefined && (api.authorization !== undefined || browsing)) await show();
}

window.addEventListener('hashchange', () => void follow());
window.addEventListener('beforeunload', (event) => {
  if (isDirty()) event.preventDefault();
});
watchKeys();
void start();
