// Creates elements from values. Text always becomes a text node, so data never becomes markup.

/**
 * @typedef {Node | string | number | undefined | readonly (Node | string | undefined)[]} Child
 * @typedef {Readonly<Record<string, string | boolean | undefined | ((event: Event) => unknown)>>} Attributes
 */

/**
 * Creates an element with attributes, listeners (`onclick`) and children.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes] `false` and `undefined` leave one out
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (typeof value === 'string') element.setAttribute(name, value);
  }
  append(element, children);
  return element;
}

/**
 * Replaces all children of the element.
 *
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** @param {Element} element @param {readonly Child[]} children */
function append(element, children) {
  for (const child of children.flat()) {
    if (child !== undefined) element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Creates a button that runs an action, and is disabled until the action ends.
 *
 * @param {string} label
 * @param {() => unknown} run
 * @param {Attributes} [attributes]
 * @returns {HTMLButtonElement}
 */
export function button(label, run, attributes = {}) {
  const element = h('button', { type: 'button', ...attributes, onclick: () => void busy(element, run) }, label);
  return element;
}

/**
 * Creates a form whose submission runs an action, one at a time, without leaving the page.
 *
 * @param {() => unknown} run
 * @param {Attributes} attributes
 * @param {...Child} children
 * @returns {HTMLFormElement}
 */
export function form(run, attributes, ...children) {
  const element = h(
    'form',
    {
      ...attributes,
      onsubmit: (event) => {
        event.preventDefault();
        const submit = element.querySelector('button[type=submit]');
        if (submit instanceof HTMLButtonElement && !submit.disabled) void busy(submit, run);
      },
    },
    ...children,
  );
  return element;
}

/** @param {HTMLButtonElement} element @param {() => unknown} run */
async function busy(element, run) {
  const hadFocus = document.activeElement === element;
  element.disabled = true;
  try {
    await run();
  } finally {
    element.disabled = false;
    if (hadFocus && document.activeElement === document.body) element.focus();
  }
}

let hints = 0;

/**
 * Creates a label with an input or other field below it.
 *
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [hint] read after the label, and no part of it
 * @returns {HTMLElement}
 */
export function field(label, control, hint) {
  const named = h('label', {}, h('span', {}, label), control);
  if (hint === undefined) return h('div', { class: 'field' }, named);
  hints += 1;
  const id = `hint-${hints}`;
  control.setAttribute('aria-describedby', id);
  return h('div', { class: 'field' }, named, h('small', { id }, hint));
}
