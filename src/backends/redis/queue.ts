// A list on a Redis server that messages are pushed to, for other programs to take them from.
import { RedisClient, type RedisClientOptions } from './client.ts';

export interface RedisQueue {
  /** @throws BackendUnavailable */
  push(name: string, message: string): Promise<void>;
  close(): Promise<void>;
}

/** Connects when first used, and again whenever the connection was lost. */
export function openRedisQueue(options: RedisClientOptions): RedisQueue {
  const client = new RedisClient(options);
  let connecting: Promise<void> | undefined;
  return {
    async push(name, message) {
      connecting ??= client.connect('queue').catch((error: unknown) => {
        connecting = undefined;
        throw error;
      });
      await connecting;
      await client.call('queue', 'LPUSH', name, message);
    },
    close: () => (connecting === undefined ? Promise.resolve() : client.close()),
  };
}
