// For developers: the request of every view as code, a request runner, and the reference of the API.
import { pageHashOf, pathOf, type Place, type Route } from '../../core/places.ts';
import { listParameters } from '../../core/list-query.ts';
import type { Area } from '../area.ts';

/** Tabs that show another path than that of their object. */
const childLists: Readonly<Record<string, string>> = { collections: 'collections', groups: 'groups' };

/** Returns the path of the request behind a view, with its query. */
export function requestOf({ place, page, query }: Route): string {
  if (page === 'accounts') return withQuery('accounts', query);
  if (page === 'operations') return `operations/${query.get('_tab') ?? 'overview'}`;
  const [last] = place.slice(-1);
  if (last === undefined) return withQuery('buckets', query);
  const tab = query.get('_tab');
  const path = pathOf(place);
  if (tab === 'history') return historyOf(place);
  if (last.kind.name === 'collection' && (tab === null || tab === 'records')) {
    return withQuery(`${path}/records`, query);
  }
  const list = tab === null && last.kind.name === 'bucket' ? 'collections' : childLists[tab ?? ''];
  return list === undefined ? path : withQuery(`${path}/${list}`, query);
}

function historyOf(place: Place): string {
  const query = new URLSearchParams();
  for (const { kind, id } of place.slice(1)) query.set(`${kind.name}_id`, id);
  return withQuery(`${pathOf(place.slice(0, 1))}/history`, query);
}

function withQuery(path: string, query: URLSearchParams): string {
  const text = listParameters(query).toString();
  return text === '' ? path : `${path}?${text}`;
}

export const developerArea: Area = {
  name: 'developer',
  pages: [
    {
      name: 'requests',
      label: 'Requests',
      icon: 'code',
      order: 80,
      isShown: () => true,
      load: async () => (await import('./requests-page.tsx')).RequestsPage,
    },
  ],
  commands: [
    {
      label: 'Request of this view',
      isShown: (_service, { page }) => page !== 'requests',
      hrefOf: (route) => pageHashOf('requests', { _path: requestOf(route) }),
    },
  ],
  viewLink: {
    label: 'Request',
    title: 'The request of this view as curl, fetch and kinto.js',
    icon: 'code',
    hrefOf: (route) => (route.page === 'requests' ? undefined : pageHashOf('requests', { _path: requestOf(route) })),
  },
};
