// Pages of a list: forward by the address from the service, back through the visited pages.
import { button, fill, h } from '../dom.js';
import { failureNote } from '../context.js';
import { loadPage } from '../objects.js';

/** @typedef {import('../objects.js').Page} Page */

/**
 * Creates a list that is shown page by page.
 *
 * @param {import('../context.js').Context} context
 * @param {string} path of the list
 * @param {URLSearchParams} query of its first page
 * @param {(page: Page) => Node} draw
 * @returns {Promise<{ readonly element: HTMLElement, readonly refresh: () => Promise<void>, readonly etag: () => string }>}
 */
export async function pagedList({ api }, path, query, draw) {
  /** Queries of the pages up to the current one. @type {string[]} */
  const trail = [query.toString()];
  const element = h('div', { class: 'list' });
  let page = await loadPage(api, path, trail[0] ?? '');

  const go = async () => {
    page = await loadPage(api, path, trail.at(-1) ?? '');
    render();
  };
  /** @param {() => void} step */
  const turn = async (step) => {
    const before = [...trail];
    step();
    try {
      await go();
      element.querySelector('table')?.focus();
    } catch (error) {
      trail.splice(0, trail.length, ...before);
      element.append(failureNote(error));
    }
  };
  const render = () => {
    const focused = document.activeElement;
    const href = focused !== null && element.contains(focused) ? focused.getAttribute('href') : null;
    const { next } = page;
    fill(
      element,
      draw(page),
      trail.length === 1 && next === undefined
        ? undefined
        : h(
            'nav',
            { class: 'pages', 'aria-label': 'Pages' },
            button('Previous', () => turn(() => void trail.pop()), { disabled: trail.length === 1 }),
            h('span', {}, `Page ${trail.length}`),
            button('Next', () => turn(() => void trail.push(next ?? '')), { disabled: next === undefined }),
          ),
    );
    // Keeps the focus on the same link when the list is redrawn.
    if (href !== null) [...element.querySelectorAll('a')].find((link) => link.getAttribute('href') === href)?.focus();
  };
  render();
  return { element, refresh: go, etag: () => page.etag };
}
