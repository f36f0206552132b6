// A list on a Redis server to which messages are pushed, for other programs to consume.
import { RedisClient, type RedisClientOptions } from './client.ts';

export interface RedisQueue {
  /** @throws BackendUnavailable */
  push(name: string, message: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens a queue. It connects with the first message, and again after a lost connection. */
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
