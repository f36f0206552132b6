// Plugin `flush`: `POST /__flush__` deletes all data. For development and tests only, because it requires no
// credentials.
import { jsonResponse } from '../../engine/exchange.ts';
import { definePlugin } from '../../http/plugin.ts';

export const flush = definePlugin({
  name: 'flush',
  setup(host) {
    host.logger.warn('The flush endpoint is enabled. Any client that can reach the service can delete all data.');
    return {
      capabilities: {
        flush_endpoint: {
          description: 'POST /__flush__ deletes all data.',
          url: host.documentationUrl('flush'),
        },
      },
      endpoints: [
        {
          name: 'flush',
          tag: 'flush',
          path: '/__flush__',
          isResource: false,
          isForOperators: true,
          operations: {
            POST: {
              id: 'create_flush',
              describe: () => ({
                summary: 'Deletes all data.',
                responses: { 202: { description: 'The data is deleted.', schema: { type: 'object' } } },
              }),
              async handle({ unit, request }) {
                const { storage, permission } = await unit.writer();
                await unit.events.beforeFlush({ request });
                await storage.flush();
                await permission.flush();
                await host.cache.flush();
                await host.securityState.flush();
                unit.events.addFlush({ request });
                return jsonResponse(202, {});
              },
            },
          },
        },
      ],
    };
  },
});
