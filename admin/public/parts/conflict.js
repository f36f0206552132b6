// What to do when somebody else has changed the same object: both versions side by side, and the choice.
import { h } from '../dom.js';
import { choose } from './dialog.js';

/**
 * Shows both versions and asks.
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
    { value: 'edit', label: 'Go on editing' },
    { value: 'theirs', label: isDeleted ? 'Leave it deleted' : 'Take theirs' },
    { value: 'mine', label: isDeleted ? 'Create it again with mine' : 'Save mine over it', class: 'danger' },
  ]);
  const content = [
    h('p', {}, 'Nothing has been saved yet. What shall hold?'),
    h('div', { class: 'versions' }, side('Yours', mine), side('Theirs, as it is now', theirs ?? 'It was deleted.')),
  ];
  const choice = await choose('Somebody else has changed this in the meantime', content, choices);
  return choice ?? 'edit';
}
