// The query of a list: filters and sorting in the syntax of the API, stored in the address of the page.
import { field, form, h } from '../dom.js';

/** Prefixes of filters with their labels. */
const operators = new Map([
  ['', 'is'],
  ['not_', 'is not'],
  ['like_', 'contains'],
  ['min_', 'is at least'],
  ['max_', 'is at most'],
  ['has_', 'is there (true, false)'],
  ['contains_', 'has the element'],
]);

/** Parameters of the console's page that are not sent to the service. */
const ofPage = ['_tab'];

/** Returns the parameters for the service. @param {URLSearchParams} query @returns {URLSearchParams} */
export function listParameters(query) {
  return new URLSearchParams([...query].filter(([name]) => !ofPage.includes(name)));
}

/**
 * Returns the query after a click on a column: ascending, then descending, then the default order of the service.
 *
 * @param {URLSearchParams} query
 * @param {string} column
 * @returns {URLSearchParams}
 */
export function sortedBy(query, column) {
  const next = new URLSearchParams(query);
  const now = query.get('_sort');
  if (now === `-${column}`) next.delete('_sort');
  else next.set('_sort', now === column ? `-${column}` : column);
  return next;
}

/** Returns the value of `aria-sort`. @param {URLSearchParams} query @param {string} column */
export function sortOf(query, column) {
  const now = query.get('_sort');
  if (now === column) return 'ascending';
  return now === `-${column}` ? 'descending' : 'none';
}

/**
 * Creates the form that adds a filter, and the list of active filters with buttons that remove them.
 *
 * @param {URLSearchParams} query
 * @param {readonly string[]} columns to choose from; others can be typed
 * @param {(next: URLSearchParams) => void} go
 * @returns {HTMLElement}
 */
export function filterBar(query, columns, go) {
  const name = h('input', { list: 'columns', required: true, 'data-key': 'filter', autocomplete: 'off' });
  const operator = h(
    'select',
    {},
    [...operators].map(([value, label]) => h('option', { value }, label)),
  );
  const value = h('input', { autocomplete: 'off' });
  const add = () => {
    const next = new URLSearchParams(query);
    next.append(`${operator.value}${name.value.trim()}`, value.value);
    go(next);
  };
  const filters = [...query].filter(([key]) => !key.startsWith('_'));
  return h(
    'div',
    { class: 'filters' },
    form(
      add,
      { class: 'row', role: 'search', 'aria-label': 'Filter' },
      field('Field', name),
      field('Condition', operator),
      field('Value', value),
      h('button', { type: 'submit' }, 'Filter'),
      h(
        'datalist',
        { id: 'columns' },
        columns.map((column) => h('option', { value: column })),
      ),
    ),
    filters.length === 0
      ? undefined
      : h(
          'ul',
          { class: 'chips', 'aria-label': 'Filters' },
          filters.map(([key, text]) => chip(query, key, text, go)),
        ),
  );
}

/**
 * @param {URLSearchParams} query
 * @param {string} key
 * @param {string} text
 * @param {(next: URLSearchParams) => void} go
 */
function chip(query, key, text, go) {
  const remove = () => go(new URLSearchParams([...query].filter(([name, value]) => name !== key || value !== text)));
  const label = describeFilter(key, text);
  return h('li', {}, label, h('button', { type: 'button', 'aria-label': `Remove: ${label}`, onclick: remove }, '×'));
}

/** Returns the label of a filter. @param {string} key @param {string} text @returns {string} */
export function describeFilter(key, text) {
  const prefix = [...operators.keys()].find((each) => each !== '' && key.startsWith(each)) ?? '';
  return `${key.slice(prefix.length)} ${operators.get(prefix) ?? ''} ${text}`;
}
