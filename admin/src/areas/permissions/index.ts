// The permissions of an object.
import type { Area } from '../area.ts';

export const permissionsArea: Area = {
  name: 'permissions',
  tabs: [
    {
      name: 'permissions',
      label: 'Permissions',
      order: 40,
      isShown: ({ object }) => object !== undefined,
      load: async () => (await import('./permissions-tab.tsx')).PermissionsTab,
    },
  ],
};
