// The history of an object and its contents, and of all buckets, with the plugin `history`.
import type { Service } from '../../core/service.ts';
import type { Area } from '../area.ts';

const hasHistory = ({ capabilities }: Service): boolean => capabilities.has('history');

export const historyArea: Area = {
  name: 'history',
  pages: [
    {
      name: 'history',
      label: 'History',
      icon: 'clock',
      order: 50,
      isShown: hasHistory,
      load: async () => (await import('./all-page.tsx')).AllHistoryPage,
    },
  ],
  tabs: [
    {
      name: 'history',
      label: 'History',
      order: 50,
      isShown: ({ object, service }) => object !== undefined && hasHistory(service),
      load: async () => (await import('./history-tab.tsx')).HistoryTab,
    },
  ],
};
