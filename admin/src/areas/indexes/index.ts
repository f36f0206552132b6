// The declared indexes of a collection.
import type { Area } from '../area.ts';

export const indexesArea: Area = {
  name: 'indexes',
  tabs: [
    {
      name: 'indexes',
      label: 'Indexes',
      order: 30,
      isShown: ({ kind, object, service }) =>
        kind.name === 'collection' && object !== undefined && service.capabilities.has('indexes'),
      load: async () => (await import('./indexes-tab.tsx')).IndexesTab,
    },
  ],
};
