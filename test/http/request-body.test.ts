// Receives bodies that are larger than one chunk.
import { Readable } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { receiveBody } from '../../src/http/request-body.ts';
import { RequestMemory } from '../../src/http/request-memory.ts';

const json = { maxValues: 1000, maxDepth: 100 };
const limits = { json, bodyLimitBytes: 3_000_000 };
const chunk = Buffer.alloc(65_536, ' ');

/** A request whose whole body has arrived. */
function requestOf(chunks: readonly Buffer[], length?: number): IncomingMessage {
  const headers = length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) };
  const socket = { remoteAddress: '127.0.0.1' };
  return Object.assign(Readable.from(chunks), { method: 'PUT', headers, socket }) as unknown as IncomingMessage;
}

function memoryOf(): RequestMemory {
  return new RequestMemory({
    budgetBytes: 400_000_000,
    maxWaitMs: 0,
    maxWaiting: 0,
    isTrusted: () => false,
    onExhausted: () => undefined,
  });
}

async function textOf(request: IncomingMessage): Promise<string> {
  const body = await receiveBody(request, limits, memoryOf().open(request));
  return JSON.stringify(body.parse());
}

describe('A large body', () => {
  const text = `"${'é😀'.repeat(150_000)}"`;
  const bytes = Buffer.from(text);
  const chunks = Array.from({ length: Math.ceil(bytes.length / 50_001) }, (_, n) =>
    bytes.subarray(n * 50_001, (n + 1) * 50_001),
  );

  it('is received whole, with and without its length', async () => {
    expect((await textOf(requestOf(chunks, bytes.length))) === text).toBe(true);
    expect((await textOf(requestOf(chunks))) === text).toBe(true);
    expect(await textOf(requestOf([Buffer.from('"a"')]))).toBe('"a"');
  });

  it('is refused when it exceeds the limit, with and without its length', async () => {
    const all = Array.from({ length: 46 }, () => chunk);
    await expect(textOf(requestOf(all, all.length * chunk.length))).rejects.toMatchObject({ status: 413 });
    await expect(textOf(requestOf(all))).rejects.toMatchObject({ status: 413 });
  });
});

it('receives one step of one of several large bodies in each turn of the event loop', async () => {
  const all = Array.from({ length: 40 }, () => chunk);
  let turns = 0;
  let isRunning = true;
  const turn = (): void => {
    turns++;
    if (isRunning) setImmediate(turn);
  };
  setImmediate(turn);
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      const request = requestOf([...all, Buffer.from('1')], all.length * chunk.length + 1);
      await receiveBody(request, limits, memoryOf().open(request));
    }),
  );
  isRunning = false;
  // 20 steps of two chunks for each body.
  expect(turns).toBeGreaterThanOrEqual(80);
});

it('keeps its memory while its request waits for more, and gives back all other memory', async () => {
  const memory = memoryOf();
  const held = (): number => memory.working.usedBytes;
  const account = memory.open(requestOf([]));
  await account.admitBody(2_000_000);
  account.admit(5_000_000);
  expect(held()).toBe(7_000_000);
  account.giveBack();
  expect(held()).toBe(2_000_000);
  // A form, which is received in parts and stays in memory.
  account.admit(6_000_000);
  account.keep();
  account.admit(9_000_000);
  account.giveBack();
  expect(held()).toBe(8_000_000);
  account.release();
  expect(held()).toBe(0);
});
