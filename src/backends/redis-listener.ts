// The event listener that pushes payloads to a list of a Redis server, for other programs.
import { formatJson, type JsonObject } from '../base/json.ts';
import { formatPayload } from '../core/events/payload.ts';
import type { Listener, ListenerContext } from '../engine/events/listener.ts';
import { findRedisAddress, redisUrlForm } from './redis/address.ts';

/**
 * Pushes each payload, without objects, to the left end of a list. Failures are logged and refuse no write.
 *
 * @throws Error for a wrong address or timeout
 */
export async function redisListener({ name, parameter, logger }: ListenerContext): Promise<Listener> {
  const address = findRedisAddress(parameter('url'));
  if (address === undefined) throw new Error(`url: expected ${redisUrlForm}`);
  const timeout = Number(parameter('pool_timeout') ?? '');
  if (Number.isNaN(timeout) || timeout < 0) throw new Error('pool_timeout: expected a number of seconds');
  const { openRedisQueue } = await import('./redis/queue.ts');
  const queue = openRedisQueue({ address, timeoutSeconds: timeout === 0 ? 1 : timeout });
  const list = parameter('listname') || 'svc.events';
  const push = async (payload: JsonObject): Promise<void> => {
    try {
      await queue.push(list, formatJson(payload));
    } catch (error) {
      logger.error({ err: error, listener: name }, 'An event could not be pushed to Redis');
    }
  };
  return {
    isSync: false,
    handle: (event) => push(formatPayload(event)),
    handleNamed: (event) => push({ ...event.payload, event: event.name }),
    stop: () => queue.close(),
  };
}
