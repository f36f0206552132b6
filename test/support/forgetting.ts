// A plugin for tests that forgets tombstones when asked: `POST /forget?parent=<URI>&before=<timestamp>`, as an operator does
// from the command line.
import { storedParent } from '../../src/core/objects/uris.ts';
import { jsonResponse } from '../../src/engine/exchange.ts';
import { definePlugin } from '../../src/http/plugin.ts';

export const forgetting = definePlugin({
  name: 'forgetting',
  setup: () => ({
    endpoints: [
      {
        name: 'forget',
        path: '/forget',
        isResource: false,
        operations: {
          POST: {
            id: 'forget',
            async handle({ query, unit }) {
              const given = new Map(query);
              const [parent, before] = [given.get('parent'), given.get('before')];
              const { storage } = await unit.writer();
              const count = await storage.purgeDeleted({
                kind: 'record',
                ...(parent === undefined ? {} : { parent: storedParent(parent) }),
                ...(before === undefined ? {} : { before: Number(before) }),
              });
              return jsonResponse(200, { count });
            },
          },
        },
      },
    ],
  }),
});
