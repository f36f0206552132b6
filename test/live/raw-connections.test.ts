// The bytes of streams on the connection: chunks, and clients that know none.
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testBackends } from '../../src/testing/index.ts';
import { records, Stage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.start(testBackends[0]!);
  await stage.put('x', { text: 'ü'.repeat(100) });
});
afterAll(() => stage.close());

/** Sends bytes, and returns what arrives until the first frame `current` is complete. */
function receive(bytes: string): Promise<string> {
  const { hostname, port } = new URL(stage.service.origin);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  return new Promise((resolve, reject) => {
    const received: Buffer[] = [];
    socket.once('error', reject);
    socket.on('data', (part: Buffer) => {
      received.push(part);
      const text = Buffer.concat(received).toString('latin1');
      if (!/event: current\ndata: \{\}\n\n(?:\r\n)?$/.test(text)) return;
      socket.destroy();
      resolve(text);
    });
  });
}

/** Joins complete chunks. */
function joinChunks(body: string): string {
  let text = '';
  for (let at = 0; at < body.length;) {
    const end = body.indexOf('\r\n', at);
    const length = Number.parseInt(body.slice(at, end), 16);
    expect(body.slice(end + 2 + length, end + 4 + length)).toBe('\r\n');
    text += body.slice(end + 2, end + 2 + length);
    at = end + 4 + length;
  }
  return text;
}

const stream =
  /^retry: \d+\n\nid: \d+\nevent: changes\ndata: \{"data":\[.*\]\}\n\nid: \d+\nevent: current\ndata: \{\}\n\n$/;

it('sends chunks of whole frames', async () => {
  const text = await receive(`GET ${records}?_live=sse&_since=0 HTTP/1.1\r\nHost: x\r\n\r\n`);
  const [head = '', body = ''] = text.split('\r\n\r\n', 2);
  expect(head).toContain('Transfer-Encoding: chunked');
  expect(joinChunks(text.slice(head.length + 4))).toMatch(stream);
  expect(body).not.toBe('');
});

it('sends a client of HTTP/1.0 no chunks', async () => {
  const text = await receive(`GET ${records}?_live=sse&_since=0 HTTP/1.0\r\nHost: x\r\n\r\n`);
  const head = text.split('\r\n\r\n', 1)[0]!;
  expect(head.toLowerCase()).not.toContain('chunked');
  expect(text.slice(head.length + 4)).toMatch(stream);
});
