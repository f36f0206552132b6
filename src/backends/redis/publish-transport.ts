// Carries hints by PUBLISH, over the connection of the commands, and SUBSCRIBE, over one of its own.
import type { HintTransport, MessageEvents, MessageSource } from '../hints/transport.ts';
import type { RedisClient } from './client.ts';
import { openSubscription, type Subscription } from './subscription.ts';

export class PublishTransport implements HintTransport {
  readonly maxBytes = 65_536;
  readonly #client: RedisClient;
  readonly #channel: string;
  #attempts = 0;
  #source: Subscription | undefined;
  #isClosed = false;

  constructor(client: RedisClient, channel: string) {
    this.#client = client;
    this.#channel = channel;
  }

  async send(messages: readonly string[]): Promise<void> {
    await Promise.all(messages.map((message) => this.#client.publish('storage', this.#channel, message)));
  }

  async listen(events: MessageEvents): Promise<MessageSource> {
    if (this.#isClosed) throw new Error('the hints are closed');
    const source = openSubscription(this.#client, this.#channel, events, this.#attempts++);
    this.#source = source;
    await source.ready;
    return source;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#source?.end();
  }
}
