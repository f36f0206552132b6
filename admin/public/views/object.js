// The view of one object, with tabs for its children, attributes, permissions, history and file.
import { failureNote } from '../context.js';
import { button, h } from '../dom.js';
import { displayText, elementsOf, memberText } from '../json-text.js';
import { loadObject } from '../objects.js';
import { hashOf, kinds, listPathOf, pathOf } from '../places.js';
import { attachmentPanel } from '../parts/attachment.js';
import { createForm } from '../parts/create.js';
import { editor } from '../parts/editor.js';
import { capital, formatTimestamp } from '../parts/format.js';
import { historyList } from '../parts/history.js';
import { objectList } from '../parts/object-list.js';
import { permissionsEditor } from '../parts/permissions.js';
import { poll } from '../parts/poller.js';
import { removeButton } from '../parts/remove.js';

/**
 * @typedef {import('../context.js').Context} Context
 * @typedef {import('../objects.js').StoredObject} StoredObject
 * @typedef {{ readonly name: string, readonly draw: () => Node | Promise<Node> }} Tab
 */

/** @param {Context} context @returns {Promise<HTMLElement>} */
export async function objectView(context) {
  const { place, query } = context.route;
  const last = place.at(-1);
  if (last === undefined) throw new Error('No object exists at this address.');
  const { kind, id } = last;
  // Users without access to the object may still have access to some of its contents.
  const found = await loadObject(context.api, pathOf(place)).catch((/** @type {unknown} */ error) =>
    failureNote(error),
  );
  const object = found instanceof Node ? undefined : found;
  const tabs = [...listTabs(context, object), ...(object === undefined ? [] : objectTabs(context, object))];
  const tab = tabs.find(({ name }) => name === query.get('_tab')) ?? tabs[0];
  if (tab === undefined) return h('div', {}, heading(kind.name, id), found instanceof Node ? found : undefined);
  const news = h('div', { 'aria-live': 'polite' });
  if (object !== undefined) watch(context, object, news);
  return h(
    'div',
    {},
    heading(kind.name, id),
    object === undefined ? undefined : facts(object),
    found instanceof Node ? found : undefined,
    news,
    h(
      'nav',
      { class: 'tabs', 'aria-label': 'Parts' },
      tabs.map(({ name }) =>
        h(
          'a',
          { href: hashOf(place, { _tab: name }), 'aria-current': name === tab.name ? 'page' : undefined },
          capital(name),
        ),
      ),
    ),
    h('section', { 'aria-label': capital(tab.name) }, await Promise.resolve(tab.draw()).catch(failureNote)),
  );
}

/** @param {string} kindName @param {string} id */
function heading(kindName, id) {
  return h('h1', { tabindex: '-1' }, h('small', {}, `${kindName} `), id);
}

/** @param {StoredObject} object */
function facts({ data }) {
  const moment = memberText(data, 'last_modified');
  return h('p', { class: 'hint' }, `Changed ${formatTimestamp(moment)}`, h('code', {}, ` ${moment ?? ''}`));
}

/** Returns the tabs for the child lists of an object. @param {Context} context @param {StoredObject | undefined} object @returns {readonly Tab[]} */
function listTabs(context, object) {
  const names = context.route.place.at(-1)?.kind.children ?? [];
  return names.map((name) => ({
    name: kinds[name].plural,
    draw: async () => {
      // Users who may not list may still be allowed to create.
      const list = await objectList(context, kinds[name], object?.data).catch(failureNote);
      return h('div', {}, createForm(context, kinds[name]), list);
    },
  }));
}

/** Returns the tabs for the object itself. @param {Context} context @param {StoredObject} object @returns {readonly Tab[]} */
function objectTabs(context, object) {
  const { capabilities } = context.service;
  const isRecord = context.route.place.at(-1)?.kind.name === 'record';
  return [
    { name: 'attributes', draw: () => h('div', {}, editor(context, object), removeButton(context, object)) },
    ...(isRecord && capabilities.has('attachments')
      ? [{ name: 'file', draw: () => attachmentPanel(context, object) }]
      : []),
    { name: 'permissions', draw: () => permissionsEditor(context, object) },
    ...(capabilities.has('history') ? [{ name: 'history', draw: () => historyList(context) }] : []),
  ];
}

/** Shows a notice when another user changes the object. Unsaved edits are kept. @param {Context} context @param {StoredObject} object @param {HTMLElement} news */
function watch(context, object, news) {
  const { place } = context.route;
  const last = place.at(-1);
  if (last === undefined) return;
  const id = displayText(memberText(object.data, 'id') ?? '""');
  poll(context, async () => {
    const query = new URLSearchParams({ _since: object.etag, id: `"${id}"` });
    const path = listPathOf(place.slice(0, -1), last.kind);
    // 410: the list no longer records all deletions since then (setting `refuse_outdated_since`).
    const answer = await context.api.request('GET', path, { query, allowed: [401, 403, 410] });
    if (answer.status !== 200 || context.signal.aborted || news.hasChildNodes()) return;
    const [change] = elementsOf(memberText(answer.text, 'data') ?? '[]');
    if (change === undefined) return;
    const isDeleted = memberText(change, 'deleted') === 'true';
    news.append(
      h(
        'p',
        { class: 'note' },
        isDeleted ? 'Another user has deleted this object. ' : 'Another user has changed this object. ',
        button('Show the current version', context.reload, { class: 'small' }),
      ),
    );
  });
}
