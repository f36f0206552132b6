// The JSON Schema of a collection.
import type { Area } from '../area.ts';

export const schemaArea: Area = {
  name: 'schema',
  tabs: [
    {
      name: 'schema',
      label: 'Schema',
      order: 15,
      isShown: ({ kind, object }) => kind.name === 'collection' && object !== undefined,
      load: async () => (await import('./schema-tab.tsx')).SchemaTab,
    },
  ],
};
