// A list of objects as a table with columns, sorting, filters, pages, and updates by other users.
import { h } from '../dom.js';
import { displayText, elementsOf, memberText, membersOf } from '../json-text.js';
import { below, hashOf, listPathOf } from '../places.js';
import { follow } from './follower.js';
import { formatTimestamp } from './format.js';
import { filterBar, listParameters, sortedBy, sortOf } from './list-query.js';
import { pagedList } from './pager.js';

/**
 * @typedef {import('../context.js').Context} Context
 * @typedef {import('../places.js').Place} Place
 * @typedef {import('../places.js').Kind} Kind
 */

const pageSize = '25';
const cellLimit = 120;
const guessedColumns = 4;

/**
 * Creates the list of one kind below a place.
 *
 * @param {Context} context
 * @param {Kind} kind
 * @param {string} [parentData] attributes of the collection, which may say what to show (`displayFields`)
 * @returns {Promise<HTMLElement>}
 */
export async function objectList(context, kind, parentData = '{}') {
  const { api, route, say, signal } = context;
  const { place, query } = route;
  const path = listPathOf(place, kind);
  const parameters = listParameters(query);
  parameters.set('_limit', pageSize);
  const total = h('p', { class: 'total' });
  const count = async () => {
    const { headers } = await api.request('HEAD', path, { query: listParameters(query) });
    total.textContent = totalOf(headers, kind);
  };
  const given = fieldsOf(memberText(parentData, 'displayFields') ?? '');
  /** @type {readonly string[]} */
  let columns = [];

  const list = await pagedList(context, path, parameters, (page) => {
    columns = given.length > 0 ? given : columnsOf(page.rows);
    return page.rows.length === 0 ? emptyNote(kind, query) : table(context, kind, columns, page.rows);
  });
  // After the list, because an error response to HEAD has no body with a message.
  await count();
  follow(context, {
    path,
    filters: listParameters(query),
    etag: list.etag,
    refresh: async () => {
      await list.refresh();
      await count();
      if (!signal.aborted) say('The list has changed and was reloaded.');
    },
  });
  /** @param {URLSearchParams} next */
  const go = (next) => (location.hash = hashOf(place, next));
  return h('div', {}, filterBar(query, ['id', 'last_modified', ...columns], go), total, list.element);
}

/** @param {Headers} headers @param {Kind} kind */
function totalOf(headers, kind) {
  const count = headers.get('Total-Objects') ?? headers.get('Total-Records') ?? '?';
  return `${count} ${count === '1' ? kind.name : kind.plural}`;
}

/** @param {Kind} kind @param {URLSearchParams} query */
function emptyNote(kind, query) {
  const isFiltered = [...query.keys()].some((key) => !key.startsWith('_'));
  const text = isFiltered ? `No ${kind.plural} match these filters.` : `No ${kind.plural} are visible to you here.`;
  return h('p', { class: 'empty' }, text);
}

/** @param {Context} context @param {Kind} kind @param {readonly string[]} columns @param {readonly string[]} rows */
function table({ route }, kind, columns, rows) {
  const { place, query } = route;
  const header = ['id', ...columns, 'last_modified'].map((column) =>
    h(
      'th',
      { scope: 'col', 'aria-sort': sortOf(query, column) },
      h('a', { href: hashOf(place, sortedBy(query, column)), title: 'Sort' }, column),
    ),
  );
  return h(
    'div',
    { class: 'scroll' },
    h(
      'table',
      { tabindex: '-1' },
      h('caption', { class: 'hidden' }, kind.plural),
      h('thead', {}, h('tr', {}, header)),
      h(
        'tbody',
        {},
        rows.map((row) => tableRow(place, kind, columns, row)),
      ),
    ),
  );
}

/** @param {Place} place @param {Kind} kind @param {readonly string[]} columns @param {string} row */
function tableRow(place, kind, columns, row) {
  const members = new Map(membersOf(row).map(({ key, text }) => [key, text]));
  const id = displayText(members.get('id') ?? '""');
  const cells = columns.map((column) => {
    const text = displayText(members.get(column) ?? '');
    return h('td', { title: text }, text.length > cellLimit ? `${text.slice(0, cellLimit)}…` : text);
  });
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, h('a', { href: hashOf(below(place, kind, id)) }, id)),
    ...cells,
    h('td', { class: 'moment' }, formatTimestamp(members.get('last_modified'))),
  );
}

/** Returns the attributes that most objects of the page have. @param {readonly string[]} rows @returns {readonly string[]} */
function columnsOf(rows) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { key } of rows.flatMap((row) => membersOf(row))) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts]
    .filter(([key]) => !['id', 'last_modified', 'schema'].includes(key))
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, guessedColumns)
    .map(([key]) => key);
}

/** @param {string} text @returns {readonly string[]} */
function fieldsOf(text) {
  if (!text.startsWith('[')) return [];
  return elementsOf(text)
    .filter((element) => element.startsWith('"'))
    .map(displayText)
    .filter((name) => name !== 'id' && name !== 'last_modified');
}
