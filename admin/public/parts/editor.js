// The attributes of an object as JSON in a text field. The text itself is sent, and never parsed and reformatted.
import { button, field, form, h } from '../dom.js';
import { attempts } from '../context.js';
import { faultOfObject, indentJson, withoutMembers } from '../json-text.js';
import { findObject, ownMembers } from '../objects.js';
import { pathOf } from '../places.js';
import { resolveConflict } from './conflict.js';

/**
 * @typedef {import('../context.js').Context} Context
 * @typedef {import('../objects.js').StoredObject} StoredObject
 */

/** Returns the text to edit: all members except those that the service sets. @param {string} data @returns {string} */
export function editableText(data) {
  return indentJson(withoutMembers(data, ownMembers));
}

/**
 * Creates a text field for JSON, with a height that fits the text.
 *
 * @param {string} text
 * @returns {HTMLTextAreaElement}
 */
export function jsonArea(text) {
  const rows = Math.min(Math.max(text.split('\n').length + 1, 8), 30);
  const area = h('textarea', { class: 'json', spellcheck: 'false', autocomplete: 'off', rows: String(rows) });
  area.value = text;
  return area;
}

/**
 * Creates the editor of an existing object.
 *
 * @param {Context} context
 * @param {StoredObject} object
 * @returns {HTMLElement}
 */
export function editor(context, object) {
  const { place } = context.route;
  const path = pathOf(place);
  const area = jsonArea(editableText(object.data));
  const original = area.value;
  const { element: failures, attempt } = attempts();
  context.guard(() => area.value !== original && area.isConnected);

  const save = () =>
    attempt(async () => {
      const fault = faultOfObject(area.value);
      if (fault !== undefined) throw new Error(fault);
      if (area.value === original) return context.say('No changes to save.');
      await send({ 'If-Match': object.etag });
    });
  /** @param {Readonly<Record<string, string>>} condition @returns {Promise<void>} */
  const send = async (condition) => {
    const body = `{"data":${area.value}}`;
    const answer = await context.api.request('PUT', path, { body, headers: condition, allowed: [412] });
    if (answer.status !== 412) {
      context.say('Saved.');
      return finish();
    }
    const theirs = await findObject(context.api, path);
    const choice = await resolveConflict(area.value, theirs === undefined ? undefined : editableText(theirs.data));
    if (choice === 'theirs') return finish();
    if (choice === 'mine') return send(theirs === undefined ? { 'If-None-Match': '*' } : { 'If-Match': theirs.etag });
  };
  const finish = () => {
    context.guard(() => false);
    context.reload();
  };
  return form(
    save,
    { class: 'editor' },
    field('Attributes (JSON)', area, 'Numbers and keys are kept exactly as written. Ctrl+S saves.'),
    failures,
    h(
      'div',
      { class: 'actions' },
      h('button', { type: 'submit', class: 'primary', 'data-key': 'save' }, 'Save'),
      button('Undo changes', () => {
        area.value = original;
      }),
    ),
  );
}
