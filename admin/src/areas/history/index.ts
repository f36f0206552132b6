// The history of an object and its contents, with the plugin `history`.
import type { Area } from '../area.ts';

export const historyArea: Area = {
  name: 'history',
  tabs: [
    {
      name: 'history',
      label: 'History',
      order: 50,
      isShown: ({ object, service }) => object !== undefined && service.capabilities.has('history'),
      load: async () => (await import('./history-tab.tsx')).HistoryTab,
    },
  ],
};
