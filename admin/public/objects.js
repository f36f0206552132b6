// Objects and lists of the service, with their attributes as text.
import { elementsOf, membersOf, memberText } from './json-text.js';

/**
 * @typedef {import('./api.js').Api} Api
 * @typedef {ReadonlyMap<string, readonly string[]>} Permissions
 * @typedef {{ readonly etag: string, readonly data: string, readonly permissions: Permissions }} StoredObject
 * @typedef {{ readonly rows: readonly string[], readonly etag: string, readonly next: string | undefined }} Page
 */

/** Members that the service sets and users cannot edit. */
export const ownMembers = ['id', 'last_modified'];

/** @param {import('./api.js').Answer} answer @returns {StoredObject} */
export function readObject({ text, headers }) {
  const data = memberText(text, 'data') ?? '{}';
  return {
    etag: headers.get('ETag') ?? `"${memberText(data, 'last_modified') ?? ''}"`,
    data,
    permissions: new Map(
      membersOf(memberText(text, 'permissions') ?? '{}').map(({ key, text: principals }) => [
        key,
        elementsOf(principals).map((principal) => String(JSON.parse(principal))),
      ]),
    ),
  };
}

/** @param {Api} api @param {string} path @returns {Promise<StoredObject>} */
export async function loadObject(api, path) {
  return readObject(await api.request('GET', path));
}

/** Returns the current object, or `undefined` when it was deleted. @param {Api} api @param {string} path */
export async function findObject(api, path) {
  const answer = await api.request('GET', path, { allowed: [404] });
  return answer.status === 404 ? undefined : readObject(answer);
}

/**
 * Loads one page of a list.
 *
 * @param {Api} api
 * @param {string} path
 * @param {URLSearchParams | string} query
 * @returns {Promise<Page>}
 */
export async function loadPage(api, path, query) {
  const { text, headers } = await api.request('GET', path, { query });
  const next = headers.get('Next-Page');
  return {
    rows: elementsOf(memberText(text, 'data') ?? '[]'),
    etag: headers.get('ETag') ?? '',
    // Only the query: behind a proxy the host may differ.
    next: next === null ? undefined : new URL(next, document.baseURI).search,
  };
}
