// Import and export of the records of a collection.
import type { Area } from '../area.ts';

export const transferArea: Area = {
  name: 'transfer',
  tabs: [
    {
      name: 'transfer',
      label: 'Import, export',
      order: 35,
      isShown: ({ kind }) => kind.name === 'collection',
      load: async () => (await import('./transfer-tab.tsx')).TransferTab,
    },
  ],
};
