// The history of an object and its contents: the entries of the plugin `history`, newest first.
import { h } from '../dom.js';
import { displayText, indentJson, memberText } from '../json-text.js';
import { pathOf } from '../places.js';
import { formatTimestamp } from './format.js';
import { pagedList } from './pager.js';

/**
 * Creates the history of the current object.
 *
 * @param {import('../context.js').Context} context
 * @returns {Promise<HTMLElement>}
 */
export async function historyList(context) {
  const { place } = context.route;
  const query = new URLSearchParams({ _limit: '20' });
  for (const { kind, id } of place.slice(1)) query.set(`${kind.name}_id`, id);
  const list = await pagedList(context, `${pathOf(place.slice(0, 1))}/history`, query, ({ rows }) =>
    rows.length === 0
      ? h('p', { class: 'empty' }, 'No changes are recorded.')
      : h('ol', { class: 'history' }, rows.map(historyEntry)),
  );
  return list.element;
}

/** @param {string} row */
function historyEntry(row) {
  const read = (/** @type {string} */ key) => displayText(memberText(row, key) ?? '""');
  const verbs = new Map([
    ['create', 'created'],
    ['update', 'changed'],
    ['delete', 'deleted'],
  ]);
  const user = read('user_id');
  return h(
    'li',
    {},
    h(
      'details',
      {},
      h(
        'summary',
        {},
        h('time', {}, formatTimestamp(memberText(row, 'last_modified'))),
        h('strong', {}, ` ${verbs.get(read('action')) ?? read('action')} `),
        h('code', {}, read('uri')),
        h('span', { class: 'hint' }, ` by ${user === 'null' ? 'an anonymous user' : user}`),
      ),
      h('pre', {}, indentJson(memberText(row, 'target') ?? 'null')),
    ),
  );
}
