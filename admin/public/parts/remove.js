// Deletes an object, after a confirmation that fits its contents.
import { button, h } from '../dom.js';
import { attempts } from '../context.js';
import { hashOf, pathOf } from '../places.js';
import { ask, askForWord } from './dialog.js';

/** What is deleted together with an object. */
const contents = new Map([
  ['bucket', 'This also deletes everything in it: collections, groups, records and everything that belongs to them.'],
  ['collection', 'This also deletes all of its records.'],
]);

/**
 * Creates the button that deletes the object.
 *
 * @param {import('../context.js').Context} context
 * @param {import('../objects.js').StoredObject} object
 * @returns {HTMLElement}
 */
export function removeButton(context, object) {
  const { place } = context.route;
  const last = place.at(-1);
  const name = last?.kind.name ?? '';
  const id = last?.id ?? '';
  const { element: failures, attempt } = attempts();
  const isMeant = () => {
    const title = `Delete the ${name} ${id}?`;
    const more = contents.get(name);
    return more === undefined
      ? ask({ title, text: 'This cannot be undone.', yes: 'Delete', no: 'Keep it' })
      : askForWord({ title, text: `${more} This cannot be undone.`, yes: 'Delete everything', word: id });
  };
  const remove = () =>
    attempt(async () => {
      if (!(await isMeant())) return;
      await context.api.request('DELETE', pathOf(place), { headers: { 'If-Match': object.etag } });
      context.say(`The ${name} ${id} is deleted.`);
      context.guard(() => false);
      location.hash = hashOf(place.slice(0, -1), name === 'group' ? { _tab: 'groups' } : {});
    });
  return h('div', { class: 'remove' }, button(`Delete this ${name}`, remove, { class: 'danger' }), failures);
}
