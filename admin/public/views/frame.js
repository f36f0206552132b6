// The frame of every view: the signed-in user and the breadcrumbs.
import { h } from '../dom.js';
import { hashOf } from '../places.js';

/**
 * @param {import('../context.js').Context} context
 * @param {Node} view
 * @param {() => unknown} signOut
 * @returns {readonly Node[]}
 */
export function frame({ service, api, route }, view, signOut) {
  const { place } = route;
  const crumbs = place.map(({ id }, index) => {
    const isLast = index === place.length - 1;
    const href = hashOf(place.slice(0, index + 1));
    return h('li', {}, h('a', { href, 'aria-current': isLast ? 'page' : undefined }, id));
  });
  // The default project name equals the product name.
  const isNamed = service.projectName !== 'Coffer';
  const signedIn = api.authorization !== undefined;
  return [
    h(
      'header',
      { class: 'top' },
      h('a', { class: 'brand', href: '#/' }, 'Coffer', isNamed ? h('small', {}, ` ${service.projectName}`) : []),
      h(
        'span',
        { class: 'who' },
        h('span', { class: 'user', title: service.userId }, service.userId ?? 'Not signed in'),
        h('button', { type: 'button', class: 'small', onclick: () => signOut() }, signedIn ? 'Sign out' : 'Sign in'),
      ),
    ),
    h(
      'nav',
      { class: 'crumbs', 'aria-label': 'Breadcrumbs' },
      h('ol', {}, h('li', {}, h('a', { href: '#/' }, 'Buckets')), ...crumbs),
    ),
    h('main', {}, view),
  ];
}
