// A small server of the protocol for imports, with a few lists and a will of its own: it fails, asks to wait, breaks off,
// and says things that a Kinto may say.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One answer; `true`: as it would be without interference. */
export type Interference = (request: {
  readonly method: string;
  readonly url: URL;
  readonly count: number;
}) => Odd | true;

export interface Odd {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text?: string;
  /** Ends the connection in the middle of the answer. */
  readonly breaksOff?: boolean;
  /** Sends the beginning of the answer and no end. */
  readonly hangs?: boolean;
  /** Switches to another protocol in place of an answer. */
  readonly switches?: boolean;
}

export interface OddList {
  readonly etag?: number | string;
  /** JSON texts of objects and tombstones in ascending order. */
  readonly entries: readonly string[];
}

export interface OddServer {
  readonly root: URL;
  /** `GET /v1/…` of everything that was asked. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

export interface OddOptions {
  /** Paths below `/v1/`, `buckets` for example. */
  readonly lists: Readonly<Record<string, OddList>>;
  /** JSON texts of envelopes by path; a missing one answers 403. */
  readonly objects?: Readonly<Record<string, string>>;
  readonly root?: Readonly<Record<string, unknown>>;
  readonly interfere?: Interference;
}

/** Starts one on a free port. */
export async function startOddServer({
  lists,
  objects = {},
  root = {},
  interfere = () => true,
}: OddOptions): Promise<OddServer> {
  const requests: string[] = [];
  const usual = (method: string, url: URL): Odd => {
    const path = url.pathname.slice('/v1/'.length);
    if (path === '') {
      const body = { http_api_version: '1.23', settings: { batch_max_requests: 25 }, capabilities: {}, ...root };
      return { text: JSON.stringify(body) };
    }
    const list = lists[path];
    if (list !== undefined) {
      const live = list.entries.filter((text) => !text.includes('"deleted":true')).length;
      const headers = { ETag: `"${list.etag ?? 9000}"`, 'Total-Objects': String(live) };
      const since = Number(url.searchParams.get('_since') ?? -1);
      const entries = list.entries.filter((text) => Number(/"last_modified":(\d+)/.exec(text)?.[1]) > since);
      return { headers, text: method === 'HEAD' ? '' : `{"data":[${entries.join(',')}]}` };
    }
    const object = objects[path];
    return object === undefined ? { status: 403, text: '{"errno":121,"message":"not yours"}' } : { text: object };
  };
  const server = createServer((request, response) => {
    const method = request.method ?? '';
    const url = new URL(request.url ?? '', 'http://odd.example');
    requests.push(`${method} ${url.pathname}${url.search}`);
    const count = requests.length;
    void readBody(request).then((body) => {
      const odd = interfere({ method, url, count });
      if (odd !== true) return answer(response, odd);
      return answer(response, url.pathname === '/v1/batch' ? batch(body, usual) : usual(method, url));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    root: new URL(`http://127.0.0.1:${port}/v1/`),
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function batch(body: string, usual: (method: string, url: URL) => Odd): Odd {
  const { requests } = JSON.parse(body) as { readonly requests: readonly { readonly path: string }[] };
  const responses = requests.map(({ path }) => {
    const { status = 200, text = '{}' } = usual('GET', new URL(`/v1${path}`, 'http://odd.example'));
    return `{"status":${status},"path":"/v1${path}","headers":{},"body":${text}}`;
  });
  return { text: `{"responses":[${responses.join(',')}]}` };
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request as AsyncIterable<Buffer>) text += chunk.toString();
  return text;
}

function answer(
  response: ServerResponse,
  { status = 200, headers = {}, text = '', breaksOff = false, hangs = false, switches = false }: Odd,
): void {
  if (switches) {
    response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
    return;
  }
  const bytes = Buffer.from(text);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': String(bytes.length),
    ...headers,
  });
  if (hangs) response.write(bytes.subarray(0, bytes.length >> 1));
  else if (!breaksOff) response.end(bytes);
  else response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
}
