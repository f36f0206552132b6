// Quotas: how much buckets and collections may hold. What they hold is counted in the transaction of every change.
import { definePlugin } from '../../http/plugin.ts';
import { QuotaEnforcement } from './enforcement.ts';
import { quotaFamilies, QuotaLimits, quotaSettings } from './limits.ts';

export const quotas = definePlugin({
  name: 'quotas',
  settings: quotaSettings,
  families: quotaFamilies,
  setup({ settings, stores, documentationUrl }) {
    const { name, abilities } = stores.storage.database;
    if (!abilities.rollback) {
      throw new Error(`quotas need a storage that can undo what exceeds them, and ${name} cannot.`);
    }
    const enforcement = new QuotaEnforcement(new QuotaLimits(settings));
    return {
      capabilities: {
        quotas: { description: 'What buckets and collections hold is limited.', url: documentationUrl('quotas') },
      },
      subscribers: [
        {
          name: 'quotas',
          on: 'ResourceDeleting',
          kinds: ['collection'],
          handle: (deletion, unit) => enforcement.saveDeletedUsage(deletion, unit),
        },
        {
          name: 'quotas',
          on: 'RequestChanged',
          kinds: ['bucket', 'group', 'collection', 'record'],
          handle: (changes, { unit }) => enforcement.count(changes, unit),
        },
      ],
    };
  },
});
