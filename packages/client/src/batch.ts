// Several requests in one transaction.
import { CofferError } from './errors.ts';
import { check, conclude, mayRepeat, type Reply, type Request, type Send, type Transport } from './transport.ts';
import type { CallOptions } from './types.ts';

interface Part {
  readonly request: Request;
  readonly settle: (reply: Reply | Promise<never>) => void;
}

interface BatchReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Collects the requests of one batch, in the order of the calls. */
export class Batch {
  readonly #parts: Promise<Part>[] = [];
  #isSent = false;
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  readonly send: Send = (request, finish) => {
    // A call may need a second request after the batch.
    if (this.#isSent) return this.#transport.send(request, finish);
    return new Promise((resolve, reject) => {
      const part = Promise.resolve(request).then((ready) => ({
        request: ready,
        settle: (reply: Reply | Promise<never>) => {
          Promise.resolve(reply)
            .then((known) => conclude(known, finish))
            .then(resolve, reject);
        },
      }));
      part.catch(reject);
      this.#parts.push(part);
    });
  };

  /**
   * Sends what was collected, unless a validator has refused the arguments of a call.
   *
   * @throws CofferError when the batch as a whole fails; the calls fail with it too
   */
  async run({ signal }: CallOptions): Promise<void> {
    this.#isSent = true;
    try {
      // A transaction without one of its parts is another one.
      const parts = await Promise.all(this.#parts);
      if (parts.length > 0) await this.#exchange(parts, signal);
    } catch (error) {
      for (const part of this.#parts) part.then(({ settle }) => settle(fail(error))).catch(() => {});
      throw error;
    }
  }

  async #exchange(parts: readonly Part[], signal: AbortSignal | undefined): Promise<void> {
    const isRepeatable = parts.every(({ request }) => mayRepeat(request));
    const requests = parts.map(({ request: { method, path, headers, body } }) => ({ method, path, headers, body }));
    const request = { method: 'POST', path: '/batch', body: { requests }, isRepeatable, signal };
    await this.#transport.send(request, (reply) => {
      this.#distribute(reply, parts);
    });
  }

  /** Settles each call with its part of the response. */
  #distribute(reply: Reply, parts: readonly Part[]): void {
    const { responses } = check(reply) as { readonly responses: readonly BatchReply[] };
    const hasConflict = responses.some(({ status }) => status === 409);
    for (const [index, { settle }] of parts.entries()) {
      const { status, headers, body } = responses[index]!;
      const own = {
        status,
        headers: new Headers(headers),
        body: body === '' ? undefined : body,
        isRepeated: reply.isRepeated,
      };
      // A conflict undoes the whole batch, also the entries that succeeded before it.
      const isUndone = hasConflict && status < 400;
      settle(isUndone ? fail(new CofferError('http', '409 Undone', { status: 409 })) : own);
    }
  }
}

/** Returns a promise that fails with whatever was thrown. */
async function fail(error: unknown): Promise<never> {
  throw error;
}
