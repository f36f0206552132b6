// The context of every view: the service, the user, the current place, and functions that show messages.
import { sentenceOf } from './errors.js';
import { h } from './dom.js';

/**
 * @typedef {{ readonly name: string, readonly auth_path: string, readonly header_type: string }} Provider
 * @typedef {{
 *   readonly projectName: string, readonly version: string, readonly userId: string | undefined,
 *   readonly capabilities: ReadonlySet<string>, readonly providers: readonly Provider[],
 * }} Service data of the root view
 * @typedef {{
 *   readonly project_name: string, readonly project_version: string, readonly user?: { readonly id: string },
 *   readonly capabilities: { readonly openid?: { readonly providers: readonly Provider[] } },
 * }} RootView
 * @typedef {{
 *   readonly api: import('./api.js').Api, readonly service: Service, readonly route: import('./places.js').Route,
 *   readonly signal: AbortSignal, readonly say: (text: string) => void, readonly reload: () => void,
 *   readonly guard: (isDirty: () => boolean) => void,
 * }} Context the signal is aborted when the view is left; a guarded view is not left without a question
 */

/** Creates a message about a failure, which screen readers announce at once. @param {unknown} error @returns {HTMLElement} */
export function failureNote(error) {
  return h('p', { class: 'note bad', role: 'alert' }, sentenceOf(error));
}

/**
 * Creates an element for the failures of the action next to it.
 *
 * @returns {{ readonly element: HTMLElement, readonly attempt: (run: () => unknown) => Promise<void> }}
 */
export function attempts() {
  const element = h('div', { class: 'failures' });
  return {
    element,
    attempt: async (run) => {
      element.replaceChildren();
      try {
        await run();
      } catch (error) {
        element.replaceChildren(failureNote(error));
      }
    },
  };
}

/**
 * Reads the parts of the root view that the console needs.
 *
 * @param {import('./api.js').Api} api
 * @returns {Promise<Service>}
 */
export async function loadService(api) {
  const { text } = await api.request('GET', '');
  const root = /** @type {RootView} */ (JSON.parse(text));
  return {
    projectName: root.project_name,
    version: root.project_version,
    userId: root.user?.id,
    capabilities: new Set(Object.keys(root.capabilities)),
    providers: root.capabilities.openid?.providers ?? [],
  };
}
