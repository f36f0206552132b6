// A server process with a small heap, and the requests that would take more memory than it has.
import { request as ask, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { cloneDatabase } from '../support/postgresql.ts';
import { ServerProcess, Workspace, type Backend } from '../support/server-process.ts';

const probe = fileURLToPath(new URL('../support/memory-probe.mjs', import.meta.url));
export const list = '/buckets/b/collections/large/records';
export const megabyte = 1_000_000;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: number;
}

export class Victim {
  readonly #server: ServerProcess;
  readonly #release: () => Promise<void>;
  #collections = 0;

  private constructor(server: ServerProcess, release: () => Promise<void>) {
    this.#server = server;
    this.#release = release;
  }

  /** @param heapMegabytes absent: what Node.js takes by itself */
  static async start(
    backend: Backend,
    heapMegabytes: number | undefined,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Victim> {
    const workspace = await Workspace.create();
    const database = backend === 'postgresql' ? await cloneDatabase() : undefined;
    const heap = heapMegabytes === undefined ? '' : `--max-old-space-size=${heapMegabytes}`;
    const server = await ServerProcess.start(workspace, {
      ...workspace.environment(backend, database?.url),
      NODE_OPTIONS: `${heap} --import ${probe}`,
      // What is kept on purpose between requests has a limit of its own, and would hide what is kept by mistake.
      SVC_SQLITE_MEMORY_MB: '1',
      SVC_MEMORY_WAIT_SECONDS: '2',
      ...more,
    });
    const victim = new Victim(server, async () => {
      await server.kill();
      await database?.drop();
      await workspace.remove();
    });
    const everyone = JSON.stringify({ permissions: { write: ['system.Authenticated'] } });
    await victim.send('owner', 'PUT', '/buckets/b', everyone);
    await victim.send('owner', 'PUT', '/buckets/b/collections/large', '{}');
    await victim.send('owner', 'PUT', '/buckets/b/collections/small', '{}');
    return victim;
  }

  get pid(): number {
    return this.#server.pid;
  }

  /** Returns the text of a page. */
  async text(path: string): Promise<string> {
    const response = await fetch(this.#server.url + path, { headers: { connection: 'close' } });
    return response.text();
  }

  /** Sends a request over a connection of its own. Rejects when the connection breaks. */
  send(user: string, method: string, path: string, body?: string): Promise<Answer> {
    const headers = {
      authorization: credentials(user),
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
    };
    return new Promise((resolve, reject) => {
      const outgoing = ask(`${this.#server.url}${path}`, { method, headers, agent: false }, (incoming) => {
        let bytes = 0;
        incoming.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        incoming.once('error', reject);
        incoming.once('end', () => {
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, bytes });
        });
      });
      outgoing.once('error', reject);
      outgoing.end(body);
    });
  }

  /**
   * Asks for a list and reads no more than the first bytes of the answer; resolves to its status.
   *
   * @param user absent: an anonymous request
   */
  async readStart(
    user: string | undefined,
    path: string,
  ): Promise<{ readonly status: number; readonly socket: Socket }> {
    const { hostname, port } = new URL(this.#server.url);
    const socket = connect(Number(port), hostname);
    const authorization = user === undefined ? '' : `Authorization: ${credentials(user)}\r\n`;
    socket.write(`GET /v1${path} HTTP/1.1\r\nHost: ${hostname}\r\n${authorization}\r\n`);
    const status = await new Promise<number>((resolve, reject) => {
      socket.once('error', reject);
      socket.once('data', (start: Buffer) => {
        socket.pause();
        resolve(Number(start.toString('latin1', 9, 12)));
      });
    });
    return { status, socket };
  }

  /** Bytes in use after all garbage has been collected. */
  async usedBytes(): Promise<number> {
    const wanted = ++this.#collections;
    process.kill(this.#server.pid, 'SIGUSR2');
    for (;;) {
      const lines = this.#server.log.filter(({ Type }) => Type === 'memory');
      if (lines.length >= wanted) return sumOf(lines[wanted - 1]!.Fields!);
      // The log is read as requests are answered.
      await this.send('owner', 'GET', '/__lbheartbeat__');
    }
  }

  async stop(): Promise<void> {
    await this.#release();
  }
}

function sumOf({ heapUsed, external }: Readonly<Record<string, unknown>>): number {
  return Number(heapUsed) + Number(external);
}

function credentials(user: string): string {
  return `Basic ${Buffer.from(`${user}:secret`).toString('base64')}`;
}

export const users = Array.from({ length: 8 }, (_, n) => `user${n}`);

/** Bodies of about the size, each of a shape that takes much more memory than text. */
export function largeBodies(bytes: number): readonly string[] {
  const keys = Array.from({ length: Math.floor(bytes / 13) }, (_, n) => `"k${n + 1_000_000}":1`);
  return [
    `{"data":{"a":[${'[],'.repeat(bytes / 3)}0]}}`,
    `{"data":{"a":[${'1.0,'.repeat(bytes / 4)}0]}}`,
    `{"data":{${keys.join()}}}`,
    `{"data":{"a":"${'x'.repeat(bytes)}"}}`,
  ];
}

/** A batch of 25 records that take their attributes from the defaults. */
export function inflatedBatch(defaultBytes: number): string {
  const requests = Array.from({ length: 25 }, (_, n) => ({ path: `${list}/batch${n}` }));
  const defaults = { method: 'PUT', body: { data: { text: 'x'.repeat(defaultBytes) } } };
  return JSON.stringify({ defaults, requests });
}

/** Reads a live stream until its first frame `current`. Resolves to the number of bytes. */
export async function readCurrent(socket: Socket): Promise<number> {
  let [bytes, tail] = [0, ''];
  socket.resume();
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    tail = (tail + chunk.toString('latin1')).slice(-200);
    if (tail.includes('event: current')) break;
  }
  return bytes;
}

/** Fills the list with records of a megabyte. */
export async function fill(victim: Victim, megabytes: number): Promise<void> {
  const body = `{"data":{"text":"${'x'.repeat(megabyte)}"}}`;
  for (let n = 0; n < megabytes; n++) await victim.send('owner', 'PUT', `${list}/long${n}`, body);
}

/**
 * Runs the requests in parallel to small requests of another user, which have to succeed. Their own statuses have to be among
 * the allowed ones, and a 503 has to name a time.
 */
export async function attack(
  victim: Victim,
  requests: readonly Promise<Answer>[],
  allowed: readonly number[],
): Promise<readonly Answer[]> {
  const all = Promise.all(requests);
  const visits = await visitDuring(victim, all);
  expect([...visits].filter((status) => status !== 200 && status !== 201)).toEqual([]);
  const answers = await all;
  for (const { status, headers } of answers) {
    expect(allowed).toContain(status);
    if (status === 503) expect(headers['retry-after']).toBeDefined();
  }
  return answers;
}

/** Reads and writes a little in turn until the work is done; the statuses it got, each once. */
export async function visitDuring(victim: Victim, work: Promise<unknown>): Promise<ReadonlySet<number>> {
  const statuses = new Set<number>();
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  const small = '/buckets/b/collections/small';
  while (!isDone) {
    // Always the same record: others would stay, and count as memory that was not given back.
    statuses.add((await victim.send('visitor', 'PUT', `${small}/records/visit`, '{"data":{"n":1}}')).status);
    statuses.add((await victim.send('visitor', 'GET', small)).status);
  }
  await done;
  return statuses;
}
