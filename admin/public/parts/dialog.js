// Questions in dialogs. The browser's own `dialog` keeps the focus inside, and Escape is the safe choice.
import { field, h } from '../dom.js';

/**
 * Shows choices and waits for the user's choice.
 *
 * @template {string} Choice
 * @param {string} title
 * @param {readonly Node[]} content
 * @param {readonly { readonly value: Choice, readonly label: string, readonly class?: string, readonly needs?: HTMLInputElement, readonly word?: string }[]} choices
 *   the first has the focus; one may need a word typed before it can be taken
 * @returns {Promise<Choice | undefined>} `undefined` after Escape
 */
export function choose(title, content, choices) {
  const { promise, resolve } = waiting();
  const buttons = choices.map(({ value, label, class: name, needs, word }) => {
    const element = h('button', { value, class: name, type: 'submit', disabled: needs !== undefined }, label);
    needs?.addEventListener('input', () => (element.disabled = needs.value !== word));
    return element;
  });
  const heading = h('h2', { id: 'dialog-title' }, title);
  const box = h('form', { method: 'dialog' }, heading, ...content, h('div', { class: 'actions' }, buttons));
  const dialog = h('dialog', { 'aria-labelledby': 'dialog-title' }, box);
  // Handled here, because the page's content security policy forbids form submission.
  box.addEventListener('submit', (event) => {
    event.preventDefault();
    const pressed = event.submitter instanceof HTMLButtonElement ? event.submitter.value : '';
    dialog.close(pressed);
  });
  dialog.addEventListener('close', () => {
    resolve(choices.find(({ value }) => value === dialog.returnValue)?.value);
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
  (choices.find(({ needs }) => needs !== undefined)?.needs ?? buttons[0])?.focus({ preventScroll: true });
  return promise;
}

/**
 * Asks a question with yes and no. The focus is on no.
 *
 * @param {{ readonly title: string, readonly text: string, readonly yes: string, readonly no: string }} question
 * @returns {Promise<boolean>}
 */
export async function ask({ title, text, yes, no }) {
  const choices = /** @type {const} */ ([
    { value: 'no', label: no },
    { value: 'yes', label: yes, class: 'danger' },
  ]);
  return (await choose(title, [h('p', {}, text)], choices)) === 'yes';
}

/**
 * Asks for confirmation of an irreversible action: the user must type a word.
 *
 * @param {{ readonly title: string, readonly text: string, readonly yes: string, readonly word: string }} question
 * @returns {Promise<boolean>}
 */
export async function askForWord({ title, text, yes, word }) {
  const input = h('input', { autocomplete: 'off', spellcheck: 'false' });
  const answer = await choose(
    title,
    [h('p', {}, text), field(`Type ${word} to continue`, input)],
    [
      { value: 'yes', label: yes, class: 'danger', needs: input, word },
      { value: 'no', label: 'Keep it' },
    ],
  );
  return answer === 'yes';
}

/** @template Value @returns {{ promise: Promise<Value>, resolve: (value: Value) => void }} */
function waiting() {
  /** @type {(value: Value) => void} */
  let resolve = () => {};
  /** @type {Promise<Value>} */
  const promise = new Promise((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
