// Many requests in batches, with one result for each. Bodies are JSON text, so numbers keep their digits. A view can stop
// between two batches.
import type { Api } from './api.ts';
import { sentenceOf, failureOf, ServiceFailure } from './errors.ts';
import { elementsOf, memberText } from './json-text.ts';

export interface BatchEntry {
  /** What the entry is about: the id of an object, or the place in a file. */
  readonly name: string;
  readonly method: string;
  /** Path below the API, encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body?: string;
}

/**
 * `done`: the service has executed the request. `changed`: another client has changed the object since it was read.
 * `refused`: the service refused the request. `open`: not sent, or without a response.
 */
export type BatchStatus = 'done' | 'changed' | 'refused' | 'open';

export interface BatchResult {
  readonly name: string;
  readonly status: BatchStatus;
  /** HTTP status of the response; 0 without one. */
  readonly code: number;
  /** Why the request was not executed; `''` for `done`. */
  readonly message: string;
  /** The response as JSON text, with `headers` and `body`. */
  readonly response?: string;
}

export interface BatchOptions {
  /** Maximum number of requests in a batch. */
  readonly batchLimit: number;
  readonly onProgress?: (done: number) => void;
  /** Ends the work after the current batch. */
  readonly signal?: AbortSignal;
}

/** Maximum length of a batch in characters. A longer request is sent alone. */
const maxBatchChars = 400_000;

/** Sends the requests. Returns a result for each, in the same order; does not throw. */
export async function runBatches(
  api: Api,
  entries: readonly BatchEntry[],
  { batchLimit, onProgress, signal }: BatchOptions,
): Promise<readonly BatchResult[]> {
  const results: BatchResult[] = [];
  let stop: string | undefined;
  for (const chunk of chunksOf(entries, batchLimit)) {
    if (signal?.aborted === true) stop ??= 'Stopped.';
    if (stop !== undefined) {
      results.push(...chunk.map(({ name }) => open(name, stop ?? '')));
      continue;
    }
    const { found, failure } = await sendChunk(api, chunk);
    stop = failure;
    results.push(...found);
    onProgress?.(results.length);
  }
  return results;
}

interface ChunkResult {
  readonly found: readonly BatchResult[];
  /** Why further batches would fail as well. */
  readonly failure: string | undefined;
}

async function sendChunk(api: Api, chunk: readonly BatchEntry[]): Promise<ChunkResult> {
  try {
    return { found: await sendUntilAccepted(api, chunk), failure: undefined };
  } catch (error) {
    // Too large together: each half may be accepted.
    if (error instanceof ServiceFailure && error.status === 413 && chunk.length > 1) {
      const middle = Math.ceil(chunk.length / 2);
      const first = await sendChunk(api, chunk.slice(0, middle));
      const rest = chunk.slice(middle);
      if (first.failure !== undefined) {
        return { ...first, found: [...first.found, ...rest.map(({ name }) => open(name, first.failure ?? ''))] };
      }
      const second = await sendChunk(api, rest);
      return { found: [...first.found, ...second.found], failure: second.failure };
    }
    const message = sentenceOf(error);
    const isOwn = error instanceof ServiceFailure && error.status === 413;
    return { found: chunk.map(({ name }) => open(name, message)), failure: isOwn ? undefined : message };
  }
}

/** Sends a batch. The service rolls all of it back for an entry with 409, so the others are sent again without that entry. */
async function sendUntilAccepted(api: Api, chunk: readonly BatchEntry[]): Promise<readonly BatchResult[]> {
  const results = new Map<BatchEntry, BatchResult>();
  let rest = chunk;
  while (rest.length > 0) {
    const { text } = await api.request('POST', 'batch', { body: textOf(rest) });
    const responses = elementsOf(memberText(text, 'responses') ?? '[]');
    const found = rest.map((entry, index) => readResponse(entry, responses[index] ?? '{}'));
    const isRolledBack = found.some(({ code }) => code === 409);
    for (const [index, entry] of rest.entries()) {
      const result = found[index];
      if (result !== undefined && (!isRolledBack || result.code === 409)) results.set(entry, result);
    }
    rest = isRolledBack ? rest.filter((entry) => !results.has(entry)) : [];
  }
  return chunk.map((entry) => results.get(entry) ?? open(entry.name, ''));
}

function readResponse({ name, method }: BatchEntry, response: string): BatchResult {
  const code = Number(memberText(response, 'status') ?? 0);
  // 404: another user has deleted it already.
  if ((code >= 200 && code < 300) || (code === 404 && method === 'DELETE')) {
    return { name, status: 'done', code, message: '', response };
  }
  const { message } = failureOf(code, memberText(response, 'body') ?? '');
  return code === 412
    ? { name, status: 'changed', code, message: '', response }
    : { name, status: 'refused', code, message, response };
}

function open(name: string, message: string): BatchResult {
  return { name, status: 'open', code: 0, message };
}

function textOf(entries: readonly BatchEntry[]): string {
  return `{"requests":[${entries.map(entryText).join(',')}]}`;
}

function entryText({ method, path, headers = {}, body }: BatchEntry): string {
  const head = JSON.stringify({ method, path: `/${path}`, headers }).slice(0, -1);
  return body === undefined ? `${head}}` : `${head},"body":${body}}`;
}

function* chunksOf(entries: readonly BatchEntry[], batchLimit: number): Generator<readonly BatchEntry[]> {
  let chunk: BatchEntry[] = [];
  let chars = 0;
  for (const entry of entries) {
    const length = entryText(entry).length;
    if (chunk.length > 0 && (chunk.length >= batchLimit || chars + length > maxBatchChars)) {
      yield chunk;
      chunk = [];
      chars = 0;
    }
    chunk.push(entry);
    chars += length;
  }
  if (chunk.length > 0) yield chunk;
}
