// `GET /__broadcasts__`: the newest change of all collections, for a push service that wakes clients. Changes in quick
// succession are announced once.
import { formatEtag } from '../../core/objects/etag.ts';
import type { Context } from '../../engine/context.ts';
import { describeDocument, type OperationDescription } from '../../engine/description.ts';
import { forReading, type Endpoint } from '../../engine/endpoint.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';
import { newestTimestamp } from './monitored-collections.ts';
import type { ChangesService } from './service.ts';

const key = 'changes:broadcast';
const daySeconds = 86_400;

export function broadcastsEndpoint(service: ChangesService): Endpoint {
  const handle = async (context: Context): Promise<ServiceResponse> => {
    const timestamp = await broadcastTimestamp(service, context);
    const broadcasts = { 'remote-settings/monitor_changes': formatEtag(timestamp) };
    return jsonResponse(200, { broadcasts, code: 200 });
  };
  return {
    name: 'broadcasts',
    tag: 'changes',
    path: '/__broadcasts__',
    isResource: false,
    ignoresCaller: true,
    operations: forReading('get_broadcasts', { handle, describe }),
  };
}

function describe(): OperationDescription {
  return describeDocument('Returns the newest change of all monitored collections.', 'The timestamp.', {
    broadcasts: { type: 'object', additionalProperties: { type: 'string' } },
    code: { type: 'integer' },
  });
}

async function broadcastTimestamp({ host, values, readChanges }: ChangesService, context: Context): Promise<number> {
  const { cache } = host;
  const changes = await readChanges(context);
  // With other entries the shared clock would count, which previews move on.
  const shown = changes.entries.filter(({ collection, last_modified }) => {
    return !collection.includes('-preview') && last_modified <= changes.completeTo;
  });
  const newest = newestTimestamp({ ...changes, entries: shown }, context.now);
  const known = await cache.get(key);
  const announced = typeof known === 'number' ? known : undefined;
  const interval = values.push_broadcast_min_debounce_interval_seconds * 1000;
  if (announced !== undefined && (shown.length === 0 || newest < announced + interval)) return announced;
  await cache.set(key, newest, daySeconds);
  return newest;
}
