// Calls to a server that verifies tokens: bounded in time, size and number, without redirects. Everything that keeps an
// answer from being understood is a `BackendUnavailable`, so that it becomes a 503 and never a 401.
import { BackendUnavailable } from '../../contracts/errors.ts';
import { defaultJsonLimits, isJsonObject, JsonSyntaxError, parseJson, type JsonObject } from '../../base/json.ts';
import type { RemoteParameters } from './parameters.ts';

export interface RemoteAnswer {
  readonly status: number;
  readonly text: string;
}

export interface RemoteCall {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent by POST, as a form; absent: GET. */
  readonly form?: Readonly<Record<string, string>>;
}

type Limits = Pick<RemoteParameters, 'timeout_seconds' | 'response_limit_bytes' | 'max_concurrent_calls'>;

const maxJsonDepth = 50;

export class RemoteServer {
  readonly #name: string;
  readonly #limits: Limits;
  #underWay = 0;

  /** @param name of the policy, for messages */
  constructor(name: string, limits: Limits) {
    this.#name = name;
    this.#limits = limits;
  }

  /**
   * The answer, whatever its status.
   *
   * @throws BackendUnavailable when none comes, or none that fits the limits
   */
  async call(url: string, call: RemoteCall = {}): Promise<RemoteAnswer> {
    if (this.#underWay >= this.#limits.max_concurrent_calls)
      throw this.unavailable(url, 'too many calls are under way');
    this.#underWay++;
    try {
      return await this.#exchange(url, call);
    } catch (error) {
      if (error instanceof BackendUnavailable) throw error;
      throw this.unavailable(url, describeFailure(error), innermost(error));
    } finally {
      this.#underWay--;
    }
  }

  /**
   * The JSON object that an answer holds.
   *
   * @throws BackendUnavailable when it holds none
   */
  readObject(url: string, { text }: RemoteAnswer): JsonObject {
    try {
      const value = parseJson(text, { ...defaultJsonLimits, maxDepth: maxJsonDepth });
      if (isJsonObject(value)) return value;
    } catch (error) {
      if (error instanceof JsonSyntaxError) throw this.unavailable(url, 'the answer is no acceptable JSON', error);
      throw error;
    }
    throw this.unavailable(url, 'the answer is no JSON object');
  }

  /** The error for an address that does not answer as it should. */
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
      // A redirect could lead the token, or this machine, anywhere.
      redirect: 'manual',
      signal: AbortSignal.timeout(this.#limits.timeout_seconds * 1000),
    });
    return { status: response.status, text: await this.#read(url, response) };
  }

  /** The size that counts is that after decompression. */
  async #read(url: string, response: Response): Promise<string> {
    const limit = this.#limits.response_limit_bytes;
    const chunks: Uint8Array[] = [];
    let size = 0;
    const body: AsyncIterable<Uint8Array> | null = response.body;
    for await (const chunk of body ?? []) {
      size += chunk.length;
      if (size > limit) throw this.unavailable(url, `the answer is longer than ${limit} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  }
}

/** `fetch` wraps what went wrong, in an error that says nothing. */
function innermost(error: unknown): unknown {
  return error instanceof TypeError && error.cause !== undefined ? error.cause : error;
}

function describeFailure(error: unknown): string {
  const inner = innermost(error);
  return inner instanceof Error && inner.name === 'TimeoutError' ? 'no answer in time' : 'it cannot be reached';
}
