// Calls to a server that verifies tokens, limited in time, size and number, without redirects. All failures are
// `BackendUnavailable`, so they become 503 and never 401. Client addresses take turns, so that one of them with many invalid
// tokens does not keep others out.
import { BackendUnavailable } from '../../contracts/errors.ts';
import { defaultJsonLimits, isJsonObject, JsonSyntaxError, parseJson, type JsonObject } from '../../base/json.ts';
import { TaskLimit, TooManyTasks } from '../../base/task-limit.ts';
import { partyOf } from '../address-group.ts';
import type { RemoteParameters } from './parameters.ts';

export interface RemoteAnswer {
  readonly status: number;
  readonly text: string;
}

export interface RemoteCall {
  readonly headers?: Readonly<Record<string, string>>;
  /** Form to POST; absent for a GET. */
  readonly form?: Readonly<Record<string, string>>;
  /** Address of the client that causes the call; absent for calls that all clients need. */
  readonly address?: string | undefined;
}

type Limits = Pick<RemoteParameters, 'timeout_seconds' | 'response_limit_bytes' | 'max_concurrent_calls'>;

const maxJsonDepth = 50;

export class RemoteServer {
  readonly #name: string;
  readonly #limits: Limits;
  readonly #calls: TaskLimit;

  /** @param name name of the policy, for messages */
  constructor(name: string, limits: Limits) {
    this.#name = name;
    this.#limits = limits;
    const atOnce = limits.max_concurrent_calls;
    this.#calls = new TaskLimit({ atOnce, waiting: atOnce });
  }

  /**
   * Returns the response, whatever its status.
   *
   * @throws BackendUnavailable without a response within the limits
   */
  async call(url: string, call: RemoteCall = {}): Promise<RemoteAnswer> {
    try {
      return await this.#calls.run(() => this.#exchange(url, call), partyOf(undefined, call.address));
    } catch (error) {
      if (error instanceof BackendUnavailable) throw error;
      if (error instanceof TooManyTasks) throw this.unavailable(url, 'too many concurrent calls');
      throw this.unavailable(url, describeFailure(error), innermost(error));
    }
  }

  /**
   * Returns the JSON object in a response.
   *
   * @throws BackendUnavailable when the response is not a JSON object
   */
  readObject(url: string, { text }: RemoteAnswer): JsonObject {
    try {
      const value = parseJson(text, { ...defaultJsonLimits, maxDepth: maxJsonDepth });
      if (isJsonObject(value)) return value;
    } catch (error) {
      if (error instanceof JsonSyntaxError) throw this.unavailable(url, 'the response is not acceptable JSON', error);
      throw error;
    }
    throw this.unavailable(url, 'the response is not a JSON object');
  }

  /** Returns the error for a URL without a usable response. */
  unavailable(url: string, reason: string, cause?: unknown): BackendUnavailable {
    const { origin, pathname } = new URL(url);
    const message = `The policy ${this.#name} cannot use ${origin}${pathname}: ${reason}`;
    return new BackendUnavailable('authentication', message, cause === undefined ? {} : { cause });
  }

  async #exchange(url: string, { headers = {}, form }: RemoteCall): Promise<RemoteAnswer> {
    const response = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      headers: { Accept: 'application/json', ...headers },
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
      // A redirect could send the token to any server.
      redirect: 'manual',
      signal: AbortSignal.timeout(this.#limits.timeout_seconds * 1000),
    });
    return { status: response.status, text: await this.#read(url, response) };
  }

  /** Reads the body. The limit applies after decompression. */
  async #read(url: string, response: Response): Promise<string> {
    const limit = this.#limits.response_limit_bytes;
    const chunks: Uint8Array[] = [];
    let size = 0;
    const body: AsyncIterable<Uint8Array> | null = response.body;
    for await (const chunk of body ?? []) {
      size += chunk.length;
      if (size > limit) throw this.unavailable(url, `the response is longer than ${limit} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  }
}

/** Returns the cause that `fetch` wraps in a general TypeError. */
function innermost(error: unknown): unknown {
  return error instanceof TypeError && error.cause !== undefined ? error.cause : error;
}

function describeFailure(error: unknown): string {
  const inner = innermost(error);
  return inner instanceof Error && inner.name === 'TimeoutError' ? 'no response in time' : 'it cannot be reached';
}
