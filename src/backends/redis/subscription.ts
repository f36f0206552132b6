// A connection that receives the messages of a channel, and is not made again when it is lost.
import { forgetCommand, type RedisClient } from './client.ts';
import { translateError } from './errors.ts';

export interface SubscriptionEvents {
  readonly received: (message: string) => void;
  /** Called once when the connection has ended after it was ready. */
  readonly lost: (error: Error) => void;
}

export interface Subscription {
  /** Resolves when messages arrive, and fails when they cannot. */
  readonly ready: Promise<void>;
  /** Fails when the server does not answer. */
  probe(): Promise<void>;
  /** Ends the connection at once, also one that is being made. */
  end(): void;
}

/** @param attempt number of the attempt; on a cluster each asks another node */
export function openSubscription(
  client: RedisClient,
  channel: string,
  events: SubscriptionEvents,
  attempt: number,
): Subscription {
  const redis = client.createConnection(attempt);
  let trouble: Error | undefined;
  let isReady = false;
  redis.on('error', (error: Error) => {
    forgetCommand(error);
    trouble = error;
  });
  redis.on('message', (_, message: string) => events.received(message));
  redis.on('end', () => {
    if (isReady) events.lost(trouble ?? new Error('the connection was closed'));
  });
  const start = async (): Promise<void> => {
    try {
      await redis.connect();
      await redis.subscribe(channel);
      isReady = true;
    } catch (error) {
      redis.disconnect();
      forgetCommand(error);
      throw translateError(error, 'storage', client.place, trouble);
    }
  };
  return {
    ready: start(),
    probe: async () => void (await redis.ping()),
    end: () => redis.disconnect(),
  };
}
