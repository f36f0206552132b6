// Live updates: lists share connections with server-sent events. Where these do not get through, lists are polled.
import { Channel } from './channel.ts';
import type { Transport } from './transport.ts';
import type { LiveOptions, LiveUpdate, Stored } from './types.ts';
import { Watch } from './watch.ts';

/** The live updates of a client. */
export class LiveHub {
  readonly #transport: Transport;
  readonly #shared: Channel[] = [];

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Follows a list, from the first call of `next` on. */
  follow<S>(
    path: string,
    options: LiveOptions<never>,
    accept: (item: object) => Promise<object>,
  ): AsyncIterable<LiveUpdate<S>> {
    return { [Symbol.asyncIterator]: () => this.#iterate<S>(path, options, accept) };
  }

  #iterate<S>(
    path: string,
    options: LiveOptions<never>,
    accept: (item: object) => Promise<object>,
  ): AsyncIterator<LiveUpdate<S>, undefined> {
    const { signal } = options;
    const watch = new Watch(path, options);
    let channel: Channel | undefined;
    const done = { done: true, value: undefined } as const;
    const end = (): typeof done => {
      watch.clear();
      watch.close();
      channel?.remove(watch);
      signal?.removeEventListener('abort', end);
      return done;
    };
    return {
      next: async () => {
        try {
          if (signal?.aborted) end();
          else if (channel === undefined) {
            // Fails for filters that are none, which must not reach the connection of other lists.
            watch.query();
            signal?.addEventListener('abort', end);
            channel = this.#join(watch, options);
          }
          const update = await watch.next();
          if (update === undefined) return end();
          if (watch.isStalled && !watch.hasWaiting) {
            // Its consumer is slow: a connection of its own lets the service wait for it.
            watch.isStalled = false;
            channel = this.#join(watch, { ...options, shared: false });
          }
          return {
            done: false,
            value: {
              ...update,
              changes: (await Promise.all(update.changes.map((item) => accept(item)))) as (S & Stored<object>)[],
            },
          };
        } catch (error) {
          end();
          throw error;
        }
      },
      return: async () => end(),
    };
  }

  #join(watch: Watch, { shared = true, transport = 'auto' }: LiveOptions<never>): Channel {
    const isShared = shared && transport === 'auto';
    let channel = isShared ? this.#shared.find((each) => each.hasRoom(watch)) : undefined;
    if (channel === undefined) {
      channel = new Channel(this.#transport, isShared, transport);
      if (isShared) this.#shared.push(channel);
    }
    channel.add(watch);
    return channel;
  }
}
