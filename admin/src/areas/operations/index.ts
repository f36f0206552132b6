// The operating area: what administrators see of the running service. All pages are tabs of one page.
import { pageHashOf } from '../../core/places.ts';
import type { Service } from '../../core/service.ts';
import type { Area } from '../area.ts';

const isShown = (service: Service): boolean => service.isOperator;

export const operationsArea: Area = {
  name: 'operations',
  pages: [
    {
      name: 'operations',
      label: 'Operations',
      icon: 'chart',
      order: 70,
      isShown,
      // To others, the address explains which setting adds them.
      isThere: ({ capabilities }) => capabilities.has('operations'),
      load: async () => (await import('./operations-page.tsx')).OperationsPage,
    },
  ],
  commands: ['log', 'slow', 'webhooks', 'quotas', 'backups', 'settings'].map((tab) => ({
    label: `Operations: ${tab}`,
    isShown,
    hrefOf: () => pageHashOf('operations', { _tab: tab }),
  })),
};
