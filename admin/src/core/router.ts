// The address of the page behind `#`: the whole state of a view, so that Back, reload and links lead to the same view.
import { parseHash, type Route } from './places.ts';
import { createStore } from './store.ts';

export interface Location {
  readonly hash: string;
  /** `undefined` for an address that no view has. */
  readonly route: Route | undefined;
  /** What a view stored with this entry of the browser's history, such as the pages before. */
  readonly state: unknown;
  /** Counts reloads of the view. */
  readonly turn: number;
}

export interface NavigateOptions {
  readonly state?: unknown;
  /** Replaces the current entry of the history. */
  readonly replaces?: boolean;
}

/** Reads the address; `turn` increases when the view has to start again. */
function read(turn: number): Location {
  const { hash } = location;
  return { hash, route: parseHash(hash), state: history.state as unknown, turn };
}

export const current = createStore<Location>(read(0));

/** Forms with unsaved work. */
const guards = new Set<() => boolean>();
const leaveListeners = new Set<() => void>();
let askToLeave: () => Promise<boolean> = () => Promise.resolve(true);
let finishLogin: () => void = () => {};

/** Registers a form; a view with unsaved work is not left without a question. Returns the function that ends it. */
export function guard(hasWork: () => boolean): () => void {
  guards.add(hasWork);
  return () => {
    guards.delete(hasWork);
  };
}

/** Calls the function whenever another view is shown. */
export function onLeave(listener: () => void): void {
  leaveListeners.add(listener);
}

function isDirty(): boolean {
  return [...guards].some((each) => each());
}

/** Returns whether nothing would be lost, or the user agrees. */
export async function mayLeave(askUser: () => Promise<boolean> = askToLeave): Promise<boolean> {
  return !isDirty() || askUser();
}

function show(turn: number): void {
  for (const listener of leaveListeners) listener();
  current.set(read(turn));
}

/** Goes to an address without a question: for forms that have saved, and for steps within a view. */
export function navigate(hash: string, { state = null, replaces = false }: NavigateOptions = {}): void {
  if (replaces) history.replaceState(state, '', hash);
  else history.pushState(state, '', hash);
  show(current.get().turn);
}

/** Starts the current view again. */
export function reload(): void {
  show(current.get().turn + 1);
}

/** Goes to an address as a link does, unless the user wants to keep unsaved work. */
export async function go(hash: string): Promise<void> {
  if (await mayLeave()) navigate(hash);
}

/** The next step of the browser's history has been agreed to. */
let isAgreed = false;

/** Shows the view of the address, unless the user wants to keep unsaved work. */
async function follow(): Promise<void> {
  const { hash, state, turn } = current.get();
  if (location.hash === hash) return;
  if (location.hash.startsWith('#tokens=')) {
    finishLogin();
    return;
  }
  if (isAgreed || !isDirty()) {
    isAgreed = false;
    show(turn);
    return;
  }
  // The browser has left already. The view comes back as a new entry, so that a step back leads to what was wanted.
  history.pushState(state, '', hash === '' ? '#/' : hash);
  current.set({ ...current.get(), hash: location.hash });
  if (!(await mayLeave())) return;
  isAgreed = true;
  history.back();
}

/** Asks before a link leaves unsaved work. Links that open elsewhere are left to the browser. */
function watchLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  const hash = link?.getAttribute('href') ?? '';
  if (!hash.startsWith('#/') || hash === location.hash || !isDirty()) return;
  event.preventDefault();
  void go(hash);
}

/** Starts to follow the address. */
export function startRouter(options: { readonly ask: () => Promise<boolean>; readonly login: () => void }): void {
  askToLeave = options.ask;
  finishLogin = options.login;
  document.addEventListener('click', watchLinks);
  window.addEventListener('popstate', () => void follow());
  window.addEventListener('hashchange', () => void follow());
  window.addEventListener('beforeunload', (event) => {
    if (isDirty()) event.preventDefault();
  });
}
