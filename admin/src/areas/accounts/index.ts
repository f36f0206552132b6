// Accounts of the plugin `accounts`: the own password, and for administrators all accounts.
import { pageHashOf } from '../../core/places.ts';
import type { Service } from '../../core/service.ts';
import type { Area } from '../area.ts';

function isShown(service: Service): boolean {
  return service.capabilities.has('accounts') && service.userId !== undefined;
}

export const accountsArea: Area = {
  name: 'accounts',
  pages: [
    {
      name: 'accounts',
      label: 'Accounts',
      icon: 'person',
      order: 60,
      isShown,
      load: async () => (await import('./accounts-page.tsx')).AccountsPage,
    },
  ],
  commands: [
    { label: 'Change password', isShown, hrefOf: () => pageHashOf('accounts', { _view: 'password' }) },
    { label: 'New account', isShown, hrefOf: () => pageHashOf('accounts', { _new: '1' }) },
  ],
};
