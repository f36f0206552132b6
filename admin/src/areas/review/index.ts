// Reviews of signed collections, with the plugin `signer`.
import type { Area } from '../area.ts';
import { routeOf } from './routes.ts';

export const reviewArea: Area = {
  name: 'review',
  tabs: [
    {
      name: 'review',
      label: 'Review',
      order: 30,
      isShown: ({ kind, object, service, place }) =>
        kind.name === 'collection' && object !== undefined && routeOf(service, place) !== undefined,
      load: async () => (await import('./review-tab.tsx')).ReviewTab,
    },
  ],
};
