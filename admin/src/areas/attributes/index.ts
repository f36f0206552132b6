// The attributes of any object: the form and the JSON editor, new objects, deletion.
import type { Area } from '../area.ts';

export const attributesArea: Area = {
  name: 'attributes',
  tabs: [
    {
      name: 'attributes',
      label: 'Attributes',
      order: 10,
      isShown: ({ object }) => object !== undefined,
      load: async () => (await import('./attributes-tab.tsx')).AttributesTab,
    },
  ],
};
