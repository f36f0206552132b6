// Plugin `counters`: `GET /__counters__` returns the number of objects and tombstones by kind, for monitoring.
import type { JsonObject } from '../../base/json.ts';
import type { KindCount } from '../../contracts/storage.ts';
import type { Context } from '../../engine/context.ts';
import { describeDocument, type OperationDescription } from '../../engine/description.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';
import { forReading } from '../../engine/endpoint.ts';
import { definePlugin } from '../../http/plugin.ts';

const kinds = ['account', 'bucket', 'group', 'collection', 'record', 'history', 'attachments'] as const;

export const counters = definePlugin({
  name: 'counters',
  setup({ stores, documentationUrl }) {
    const handle = async (_context: Context): Promise<ServiceResponse> => {
      const counts = await stores.storage.reader.countKinds();
      const body = { objects: amounts(counts, 'objects'), tombstones: amounts(counts, 'tombstones') };
      return jsonResponse(200, body, { 'Cache-Control': 'no-cache, no-store' });
    };
    return {
      capabilities: {
        counters_endpoint: { description: 'GET /__counters__ counts all objects.', url: documentationUrl('counters') },
      },
      endpoints: [
        {
          name: 'counters',
          path: '/__counters__',
          isResource: false,
          ignoresCaller: true,
          operations: forReading('get_counters', { handle, describe }),
        },
      ],
    };
  },
});

function describe(): OperationDescription {
  const counts = { type: 'object', additionalProperties: { type: 'integer' } };
  return describeDocument('Counts all objects and tombstones by kind.', 'The counts.', {
    objects: counts,
    tombstones: counts,
  });
}

/** Returns the positive counts by kind. */
function amounts(counts: ReadonlyMap<string, KindCount>, what: keyof KindCount): JsonObject {
  const found = kinds.map((kind) => [kind, counts.get(kind)?.[what] ?? 0] as const);
  return Object.fromEntries(found.filter(([, amount]) => amount > 0));
}
