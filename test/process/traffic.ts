// Clients that keep a service busy while it is restarted, and note everything that a user would call a failure.
import { Agent, request, type IncomingMessage } from 'node:http';

const timeoutMs = 10_000;

export interface Traffic {
  /** Answers by status. */
  readonly statuses: Map<number, number>;
  /** What failed, other than a kept connection that ended while the client reused it, which was then tried again. */
  readonly failures: string[];
  /** How often that happened. */
  reusesThatFailed: number;
  /** Ends when the clients have their last answers. */
  stop(): Promise<void>;
}

interface Attempt {
  readonly status: number;
  readonly body: string;
}

/** Starts clients: some keep their connection, some open one for each request. */
export function startTraffic(url: string, authorization: string, clients: { kept: number; short: number }): Traffic {
  let isOn = true;
  const traffic = { statuses: new Map<number, number>(), failures: [] as string[], reusesThatFailed: 0 };
  const run = async (name: string, agent: Agent | undefined): Promise<void> => {
    for (let n = 0; isOn; n++) {
      const isWrite = n % 3 === 0;
      const target = `${url}buckets/traffic/collections/list/records${isWrite ? `/${name}-${n % 30}` : '?_limit=5'}`;
      const send = (): Promise<Attempt> => attempt(target, isWrite ? { data: { n } } : undefined, authorization, agent);
      try {
        const { status } = await send().catch((error: unknown) => {
          if (!(error instanceof BrokenReuse)) throw error;
          traffic.reusesThatFailed++;
          return send();
        });
        traffic.statuses.set(status, (traffic.statuses.get(status) ?? 0) + 1);
      } catch (error) {
        traffic.failures.push(`${name}: ${String(error)}`);
      }
    }
    agent?.destroy();
  };
  const running = [
    ...Array.from({ length: clients.kept }, (_, n) =>
      run(`kept${n}`, new Agent({ keepAlive: true, maxSockets: 1, scheduling: 'fifo' })),
    ),
    ...Array.from({ length: clients.short }, (_, n) => run(`short${n}`, undefined)),
  ];
  return Object.assign(traffic, {
    async stop() {
      isOn = false;
      await Promise.all(running);
    },
  });
}

/** The server closed a kept connection at the moment at which the client used it again, and before any answer. */
class BrokenReuse extends Error {}

function attempt(
  target: string,
  body: object | undefined,
  authorization: string,
  agent: Agent | undefined,
): Promise<Attempt> {
  return new Promise((resolve, reject) => {
    const outgoing = request(target, {
      method: body === undefined ? 'GET' : 'PUT',
      headers: { authorization, 'content-type': 'application/json' },
      agent: agent ?? false,
      timeout: timeoutMs,
    });
    let answer: IncomingMessage | undefined;
    outgoing.on('response', (response) => {
      answer = response;
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
      response.on('error', reject);
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer in time')));
    outgoing.on('error', (error) => {
      const isBroken = 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      reject(isBroken && outgoing.reusedSocket && answer === undefined ? new BrokenReuse() : error);
    });
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
