// Plugin `quotas`: limits size and number of objects in buckets and collections. Counters are updated in the
// transaction of every change. See docs/guides/quotas.md.
import { definePlugin } from '../../http/plugin.ts';
import { QuotaEnforcement } from './enforcement.ts';
import { quotaFamilies, QuotaLimits, quotaSettings } from './limits.ts';
import { usageEndpoint } from './usage-endpoint.ts';

export const quotas = definePlugin({
  name: 'quotas',
  settings: quotaSettings,
  families: quotaFamilies,
  setup({ settings, stores, documentationUrl, versionPrefix }) {
    const { name, abilities } = stores.storage.database;
    if (!abilities.rollback) {
      throw new Error(`Quotas require a storage backend with rollback, which ${name} does not have.`);
    }
    const limits = new QuotaLimits(settings);
    const enforcement = new QuotaEnforcement(limits);
    return {
      operatorAreas: { quotas: [usageEndpoint(limits, versionPrefix)] },
      capabilities: {
        quotas: {
          description: 'Limits the size and number of objects in buckets and collections.',
          url: documentationUrl('quotas'),
        },
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
