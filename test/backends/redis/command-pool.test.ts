// The pool of a Redis backend: the setting limits the commands under way, and the others wait in their order for a limited
// time.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { BackendOpener } from '../../../src/backends/open-backends.ts';
import { CommandPool } from '../../../src/backends/redis/command-pool.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { BackendUnavailable } from '../../../src/contracts/errors.ts';
import { settingsOf } from '../../../src/backends/load-settings.ts';

/** A server that responds to the greeting, and to each `GET` when the test says so. */
class WithholdingServer {
  readonly #server = createServer((socket) => this.#serve(socket));
  readonly #owed: (() => void)[] = [];
  /** Keys in the order of their requests. */
  readonly keys: string[] = [];
  #isOpen = false;
  #awaited: (() => void) | undefined;

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
  }

  /** Resolves when this many keys were requested in total. */
  async asked(count: number): Promise<void> {
    while (this.keys.length < count) {
      await new Promise<void>((resolve) => {
        this.#awaited = resolve;
      });
    }
    // Excess commands would have arrived together with the rest.
    for (let turn = 0; turn < 20; turn++) await nextTurn();
  }

  answer(count: number): void {
    for (const answer of this.#owed.splice(0, count)) answer();
  }

  /** Responds to everything from now on. */
  answerAll(): void {
    this.#isOpen = true;
    this.answer(this.#owed.length);
  }

  #serve(socket: Socket): void {
    socket.on('error', () => undefined);
    let rest = '';
    const lines: string[] = [];
    socket.on('data', (chunk) => {
      const parts = (rest + chunk.toString()).split('\r\n');
      rest = parts.pop() ?? '';
      lines.push(...parts);
      // `*2`, and for each word its length and the word.
      for (let size = sizeOf(lines[0]); size <= lines.length; size = sizeOf(lines[0])) {
        const command = lines.splice(0, size);
        this.#take(
          socket,
          command.filter((_, index) => index > 0 && index % 2 === 0),
        );
      }
    });
  }

  #take(socket: Socket, [name = '', key = '']: readonly string[]): void {
    if (name.toUpperCase() !== 'GET') {
      socket.write('+OK\r\n');
      return;
    }
    this.keys.push(key);
    this.#owed.push(() => void socket.write('$-1\r\n'));
    this.#awaited?.();
    if (this.#isOpen) this.answer(1);
  }
}

function sizeOf(head: string | undefined): number {
  return head === undefined ? Infinity : Number(head.slice(1)) * 2 + 1;
}

describe('A Redis backend', () => {
  // Proves S-244.
  it.each([
    ['50 unless pool_size is set', {}, 50],
    ['pool_size when it is set', { cache_pool_size: '3' }, 3],
  ] as const)('limits the commands under way (%s), and sends the others in their order.', async (_, settings, size) => {
    const server = new WithholdingServer();
    onTestFinished(() => server.close());
    const url = await server.start();
    const loaded = settingsOf({ userid_hmac_secret: 'x', cache_backend: 'redis', cache_url: url, ...settings });
    const cache = await new BackendOpener(loaded, systemClock).openCache('redis');
    const names = Array.from({ length: size + 7 }, (__, index) => `key-${index}`);
    const asked = names.map((name) => cache.get(name));
    await server.asked(size);
    expect(server.keys).toHaveLength(size);
    server.answer(2);
    await server.asked(size + 2);
    expect(server.keys).toHaveLength(size + 2);
    server.answerAll();
    expect(await Promise.all(asked)).toEqual(names.map(() => undefined));
    expect(server.keys.map((key) => key.replace(/.*:/, ''))).toEqual(names);
    await cache.close();
  });
});

describe('A pool of commands', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const never = (): Promise<never> => new Promise(() => {});

  // Proves S-244.
  it('refuses a command that has waited for pool_timeout, and starts the next one.', async () => {
    const pool = new CommandPool({ size: 1, timeoutMs: 1000, maxBacklog: Infinity });
    void pool.start('storage', never);
    const first = pool.start('storage', never);
    const outcome = first.catch((error: unknown) => error);
    vi.advanceTimersByTime(600);
    let isStarted = false;
    const second = pool.start('storage', async () => void (isStarted = true));
    expect(pool.state).toEqual({ limit: 1, open: 1, idle: 0, waiting: 2 });
    vi.advanceTimersByTime(400);
    const error = await outcome;
    expect(error).toBeInstanceOf(BackendUnavailable);
    expect(error).toMatchObject({ message: expect.stringContaining('storage_pool_size and storage_pool_timeout') });
    expect(isStarted).toBe(false);
    pool.end();
    await second;
    expect(isStarted).toBe(true);
    pool.end();
    expect(pool.state).toEqual({ limit: 1, open: 0, idle: 0, waiting: 0 });
  });

  it('leaves no timer when no command waits, so that a process can end.', async () => {
    const pool = new CommandPool({ size: 1, timeoutMs: 1000, maxBacklog: Infinity });
    for (let round = 0; round < 2; round++) {
      const all = [0, 1, 2].map((number) => pool.start('storage', async () => number));
      expect(vi.getTimerCount()).toBe(1);
      for (let ended = 0; ended < 3; ended++) pool.end();
      expect(await Promise.all(all)).toEqual([0, 1, 2]);
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  it('refuses commands at once beyond max_backlog.', () => {
    const pool = new CommandPool({ size: 1, timeoutMs: 1000, maxBacklog: 1 });
    void pool.start('cache', never);
    void pool.start('cache', never);
    expect(() => pool.start('cache', never)).toThrow(BackendUnavailable);
  });

  it('lets no later command overtake a waiting one.', async () => {
    const pool = new CommandPool({ size: 2, timeoutMs: 1000, maxBacklog: Infinity });
    const started: number[] = [];
    const begin = (number: number): Promise<void> => pool.start('cache', async () => void started.push(number));
    void begin(0);
    void begin(1);
    void begin(2);
    pool.end();
    pool.end();
    void begin(3);
    expect(started).toEqual([0, 1, 2, 3]);
  });
});
