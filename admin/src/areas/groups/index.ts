// The members of a group.
import type { Area } from '../area.ts';

export const groupsArea: Area = {
  name: 'groups',
  tabs: [
    {
      name: 'members',
      label: 'Members',
      order: 5,
      isShown: ({ kind, object }) => kind.name === 'group' && object !== undefined,
      load: async () => (await import('./members-tab.tsx')).MembersTab,
    },
  ],
};
