// The file of a record, with the plugin `attachments`.
import type { Area } from '../area.ts';

export const filesArea: Area = {
  name: 'files',
  tabs: [
    {
      name: 'file',
      label: 'File',
      order: 20,
      takesFiles: true,
      isShown: ({ kind, object, service }) =>
        kind.name === 'record' && object !== undefined && service.capabilities.has('attachments'),
      load: async () => (await import('./file-tab.tsx')).FileTab,
    },
  ],
};
