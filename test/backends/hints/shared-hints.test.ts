// When hints are sent, and what happens when the server is out of reach, by a transport that does what a test says.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { formatMessages, parseMessage } from '../../../src/backends/hints/hint-messages.ts';
import { SharedHints } from '../../../src/backends/hints/shared-hints.ts';
import type { HintTransport, MessageEvents, MessageSource } from '../../../src/backends/hints/transport.ts';
import type { ChangeHint } from '../../../src/contracts/change-hints.ts';
import type { Logger } from '../../../src/contracts/logger.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const listOf = (n: number): ChangeHint => ({
  list: { kind: 'record', parent: storedParent(`/buckets/b/collections/c${n}`) },
});
const anything: ChangeHint = { any: true };
const failure = new Error('no server');

class ScriptedTransport implements HintTransport {
  readonly maxBytes = 1000;
  /** Hints of each call of `send`, whether it failed or not. */
  readonly sent: (readonly ChangeHint[])[] = [];
  /** When `listen` was called. */
  readonly listens: number[] = [];
  events: MessageEvents | undefined;
  ends = 0;
  probes = 0;
  isClosed = false;
  send: (messages: readonly string[]) => Promise<void>;
  onSend: () => Promise<void> = async () => {};
  onListen: () => Promise<void> = async () => {};
  onProbe: () => Promise<void> = async () => {};

  constructor() {
    this.send = (messages) => {
      this.sent.push(messages.flatMap((message) => parseMessage(message, this.maxBytes)!.hints));
      return this.onSend();
    };
  }

  async listen(events: MessageEvents): Promise<MessageSource> {
    this.listens.push(performance.now());
    await this.onListen();
    this.events = events;
    return {
      probe: () => {
        this.probes++;
        return this.onProbe();
      },
      end: () => void this.ends++,
    };
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

function setUp() {
  const transport = new ScriptedTransport();
  const lines: string[] = [];
  const log = (level: string) => (fields: object | string, message?: string) => {
    lines.push(`${level} ${typeof fields === 'string' ? fields : message}`);
  };
  const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
  const hints = new SharedHints(transport, logger);
  const received: ChangeHint[] = [];
  const subscribe = () => hints.subscribe((some) => received.push(...some));
  return { transport, hints, lines, received, subscribe };
}

test('nothing is sent or opened before it is needed', async () => {
  const { transport, hints } = setUp();
  hints.publish([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([transport.sent, transport.listens]).toEqual([[], []]);
  await hints.close();
  expect(transport.isClosed).toBe(true);
});

test('a first hint is sent at once, and those of the next 10 ms together', async () => {
  const { transport, hints } = setUp();
  hints.publish([listOf(1)]);
  await vi.advanceTimersByTimeAsync(0);
  expect(transport.sent).toEqual([[listOf(1)]]);
  for (let n = 0; n < 9; n++) {
    hints.publish([listOf(n)]);
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(transport.sent).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(transport.sent).toHaveLength(2);
  expect(transport.sent[1]).toHaveLength(9);
  await vi.advanceTimersByTimeAsync(1000);
  expect(transport.sent).toHaveLength(2);
  await hints.close();
});

test('while a message is under way hints are gathered', async () => {
  const { transport, hints } = setUp();
  let answer: () => void = () => {};
  transport.onSend = () =>
    new Promise((resolve) => {
      answer = resolve;
    });
  hints.publish([listOf(1)]);
  await vi.advanceTimersByTimeAsync(0);
  for (let n = 2; n < 5; n++) {
    hints.publish([listOf(n)]);
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(transport.sent).toHaveLength(1);
  transport.onSend = async () => {};
  answer();
  await vi.advanceTimersByTimeAsync(10);
  expect(transport.sent).toEqual([[listOf(1)], [listOf(2), listOf(3), listOf(4)]]);
  await hints.close();
});

test('hints that cannot be sent become one, sent with growing pauses until it works, and logged once', async () => {
  const { transport, hints, lines } = setUp();
  transport.onSend = async () => {
    throw failure;
  };
  hints.publish([listOf(1)]);
  await vi.advanceTimersByTimeAsync(60_000);
  const failed = transport.sent.length;
  expect(failed).toBeGreaterThan(12);
  expect(failed).toBeLessThan(40);
  for (const hint of transport.sent.slice(1)) expect(hint).toEqual([anything]);
  expect(lines.map((line) => line.split(' ')[0])).toEqual(['warn']);
  transport.onSend = async () => {};
  hints.publish([listOf(2)]);
  await vi.advanceTimersByTimeAsync(5000);
  expect(transport.sent.slice(failed)).toEqual([[anything]]);
  expect(lines.map((line) => line.split(' ')[0])).toEqual(['warn', 'info']);
  hints.publish([listOf(3)]);
  await vi.advanceTimersByTimeAsync(10);
  expect(transport.sent.at(-1)).toEqual([listOf(3)]);
  await hints.close();
});

test('listening starts again with growing pauses, is announced each time, and logged once an outage', async () => {
  const { transport, hints, lines, received, subscribe } = setUp();
  transport.onListen = async () => {
    throw failure;
  };
  subscribe();
  subscribe();
  await vi.advanceTimersByTimeAsync(60_000);
  const pauses = transport.listens.slice(1).map((at, index) => at - transport.listens[index]!);
  expect(pauses[0]).toBeLessThanOrEqual(50);
  expect(pauses.at(-1)).toBeGreaterThanOrEqual(2500);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(5001);
  expect([received, lines.length]).toEqual([[], 1]);
  transport.onListen = async () => {};
  await vi.advanceTimersByTimeAsync(5000);
  expect(received).toEqual([anything, anything]);
  expect(lines.map((line) => line.split(' ')[0])).toEqual(['warn', 'info']);
  transport.events?.lost(failure);
  transport.events?.lost(failure);
  await vi.advanceTimersByTimeAsync(5000);
  expect(received).toHaveLength(4);
  expect(lines.map((line) => line.split(' ')[0])).toEqual(['warn', 'info', 'warn', 'info']);
  await hints.close();
});

test('a source that does not answer its probe is replaced', async () => {
  const { transport, hints, received, subscribe } = setUp();
  subscribe();
  await vi.advanceTimersByTimeAsync(40_000);
  expect([transport.probes, transport.listens.length, transport.ends]).toEqual([2, 1, 0]);
  transport.onProbe = () => Promise.reject(failure);
  await vi.advanceTimersByTimeAsync(6000);
  expect([transport.probes, transport.listens.length, transport.ends]).toEqual([3, 2, 1]);
  expect(received).toEqual([anything, anything]);
  await hints.close();
});

test('a listener that fails is logged, and the others are called', async () => {
  const { transport, hints, lines, received, subscribe } = setUp();
  hints.subscribe(() => {
    throw new Error('on purpose');
  });
  subscribe();
  await vi.advanceTimersByTimeAsync(0);
  transport.events?.received(formatMessages('other', [listOf(1)], 1000)[0]!);
  expect(received).toEqual([anything, listOf(1)]);
  expect(lines.map((line) => line.split(' ')[0])).toEqual(['error', 'error']);
  await hints.close();
  transport.events?.received(formatMessages('other', [listOf(2)], 1000)[0]!);
  expect(received).toEqual([anything, listOf(1)]);
});

test('closing sends what is pending', async () => {
  const { transport, hints } = setUp();
  hints.publish([listOf(1)]);
  await hints.close();
  expect(transport.sent).toEqual([[listOf(1)]]);
  hints.publish([listOf(2)]);
  expect(hints.close()).toBe(hints.close());
});

test('closing does not wait for long, and not at all while sending fails', async () => {
  const slow = setUp();
  slow.transport.onSend = () => new Promise(() => {});
  slow.hints.publish([listOf(1)]);
  await vi.advanceTimersByTimeAsync(0);
  slow.hints.publish([listOf(2)]);
  const closed = slow.hints.close();
  await vi.advanceTimersByTimeAsync(1000);
  await closed;
  expect([slow.transport.sent.length, slow.transport.isClosed]).toEqual([1, true]);

  const failing = setUp();
  failing.transport.onSend = () => Promise.reject(failure);
  failing.hints.publish([listOf(1)]);
  await vi.advanceTimersByTimeAsync(0);
  await failing.hints.close();
  expect(failing.transport.sent).toHaveLength(1);
});

test('closing while listening begins ends the source', async () => {
  const { transport, hints, received, subscribe } = setUp();
  let open: () => void = () => {};
  transport.onListen = () =>
    new Promise((resolve) => {
      open = resolve;
    });
  subscribe();
  await hints.close();
  open();
  await vi.advanceTimersByTimeAsync(0);
  expect([transport.ends, received]).toEqual([1, []]);
});
