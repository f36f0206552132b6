// The records of a collection.
import { hashOf } from '../../core/places.ts';
import type { Area } from '../area.ts';

export const recordsArea: Area = {
  name: 'records',
  tabs: [
    {
      name: 'records',
      label: 'Records',
      order: 0,
      isShown: ({ kind }) => kind.name === 'collection',
      load: async () => (await import('./records-tab.tsx')).RecordsTab,
    },
  ],
  commands: [
    {
      label: 'New record',
      isShown: (service, { place }) => place.length > 1 && place[1]?.kind.name === 'collection' && !service.isReadOnly,
      hrefOf: ({ place }) => hashOf(place.slice(0, 2), { _tab: 'records', _new: '1' }),
    },
  ],
};
