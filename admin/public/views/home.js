// The first view: the buckets that are visible to the user.
import { failureNote } from '../context.js';
import { field, form, h } from '../dom.js';
import { displayText, memberText } from '../json-text.js';
import { loadPage } from '../objects.js';
import { below, hashOf, kinds } from '../places.js';
import { createForm } from '../parts/create.js';
import { objectList } from '../parts/object-list.js';

/** @typedef {import('../context.js').Context} Context */

/** Maximum number of permission pages that are read. Other buckets can be opened by id. */
const pageLimit = 10;

/** @param {Context} context @returns {Promise<HTMLElement>} */
export async function homeView(context) {
  const { capabilities, userId } = context.service;
  const knowsPermissions = capabilities.has('permissions_endpoint') && userId !== undefined;
  // Users who may not list buckets open one by its id.
  const buckets = await (knowsPermissions ? bucketsByPermissions(context) : objectList(context, kinds.bucket)).catch(
    failureNote,
  );
  const id = h('input', { required: true, autocomplete: 'off', spellcheck: 'false' });
  return h(
    'div',
    {},
    h('h1', { tabindex: '-1' }, 'Buckets'),
    createForm(context, kinds.bucket),
    capabilities.has('default_bucket') && userId !== undefined
      ? h('p', {}, h('a', { href: hashOf(below([], kinds.bucket, 'default')) }, 'Your personal bucket'))
      : undefined,
    buckets,
    form(
      () => (location.hash = hashOf(below([], kinds.bucket, id.value.trim()))),
      { class: 'row' },
      field('Open a bucket by its id', id),
      h('button', { type: 'submit' }, 'Open'),
    ),
  );
}

/**
 * Returns the buckets on which, or on whose contents, the caller has a permission. The list of buckets contains only
 * readable buckets.
 *
 * @param {Context} context
 * @returns {Promise<HTMLElement>}
 */
async function bucketsByPermissions({ api }) {
  /** @type {Map<string, { permissions: readonly string[], below: number }>} */
  const found = new Map();
  let query = '_limit=1000';
  let page = 0;
  for (; page < pageLimit; page += 1) {
    const { rows, next } = await loadPage(api, 'permissions', query);
    for (const row of rows) noteEntry(found, row);
    if (next === undefined) break;
    query = next;
  }
  if (found.size === 0) return h('p', { class: 'empty' }, 'No buckets are visible to you yet. Create one above.');
  const rows = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return h(
    'div',
    { class: 'scroll' },
    page === pageLimit
      ? h('p', { class: 'hint' }, 'The list is incomplete. Open other buckets by their ids.')
      : undefined,
    h(
      'table',
      {},
      h('caption', { class: 'hidden' }, 'buckets'),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          ['Bucket', 'Your permissions', 'Objects inside with permissions for you'].map((text) =>
            h('th', { scope: 'col' }, text),
          ),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map(([id, entry]) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, h('a', { href: hashOf(below([], kinds.bucket, id)) }, id)),
            h('td', {}, entry.permissions.join(', ')),
            h('td', {}, entry.below),
          ),
        ),
      ),
    ),
  );
}

/** @param {Map<string, { permissions: readonly string[], below: number }>} found @param {string} row */
function noteEntry(found, row) {
  const id = displayText(memberText(row, 'bucket_id') ?? '""');
  const permissions = /** @type {readonly string[]} */ (JSON.parse(memberText(row, 'permissions') ?? '[]'));
  // The entry of the service itself (permission to create buckets) has no bucket.
  if (id === '') return;
  const before = found.get(id) ?? { permissions: [], below: 0 };
  const isBucket = memberText(row, 'resource_name') === '"bucket"';
  found.set(id, isBucket ? { ...before, permissions } : { ...before, below: before.below + 1 });
}
