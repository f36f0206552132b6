// The memory backend: its description, settings and opener.
import type { BackendContext, BuiltInBackend } from '../../contracts/backend-module.ts';
import { setting } from '../../settings/definition.ts';
import { integer } from '../../settings/readers.ts';

const settings = {
  cache_max_size_bytes: setting(integer({ min: 1024 }), 'Maximum size in bytes of the memory cache of one process.', {
    default: 524_288,
  }),
};

/** Keeps everything in the process. */
export const memory: BuiltInBackend = {
  name: 'memory',
  title: 'Memory',
  kinds: ['storage', 'permission', 'cache'],
  settings,
  isVolatile: true,
  reasonForOneProcess: 'each process would have its own data',
  readPlace: () => ({ key: 'memory', text: 'memory' }),

  async openDatabase({ clock }: Pick<BackendContext, 'clock'>) {
    const { createMemoryDatabase } = await import('./database.ts');
    const { createMemoryStorage } = await import('./storage.ts');
    const { createMemoryPermission } = await import('./permission.ts');
    const { createMemorySecurityState } = await import('./security-state.ts');
    const database = createMemoryDatabase({ clock });
    return {
      database,
      storage: () => createMemoryStorage(database),
      permission: () => createMemoryPermission(database),
      securityState: (limits) => createMemorySecurityState({ ...limits, clock }),
    };
  },

  async openCache(context) {
    const { createMemoryCache } = await import('./cache.ts');
    return createMemoryCache({
      clock: context.clock,
      prefix: context.settings.get('cache_prefix'),
      maxSizeBytes: context.settings.read(settings).cache_max_size_bytes,
    });
  },
};
