// The dialog for edit conflicts: shows both versions side by side, and asks which one to keep.
import { h } from '../dom.js';
import { choose } from './dialog.js';

/**
 * Shows both versions and asks which one to keep.
 *
 * @param {string} mine
 * @param {string | undefined} theirs `undefined` when it was deleted
 * @returns {Promise<'mine' | 'theirs' | 'edit'>}
 */
export async function resolveConflict(mine, theirs) {
  const side = (/** @type {string} */ title, /** @type {string} */ text) =>
    h('section', {}, h('h3', {}, title), h('pre', { tabindex: '0' }, text));
  const isDeleted = theirs === undefined;
  const choices = /** @type {const} */ ([
    { value: 'edit', label: 'Continue editing' },
    { value: 'theirs', label: isDeleted ? 'Keep it deleted' : 'Keep theirs' },
    { value: 'mine', label: isDeleted ? 'Create it again with mine' : 'Overwrite with mine', class: 'danger' },
  ]);
  const content = [
    h('p', {}, 'Nothing has been saved yet. Which version do you want to keep?'),
    h(
      'div',
      { class: 'versions' },
      side('Yours', mine),
      side('Theirs, the current version', theirs ?? 'It was deleted.'),
    ),
  ];
  const choice = await choose('Another user has changed this object', content, choices);
  return choice ?? 'edit';
}
