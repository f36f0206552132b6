// A service of few lines, for responses that a real one sends in rare moments only. It stands in for `fetch`.
export interface StubRequest {
  readonly method: string;
  /** Path below the version, with its query. */
  readonly target: string;
  readonly signal: AbortSignal;
}

/** Parts of an event stream; `undefined` cuts the connection. */
export type Script = readonly (string | undefined)[];

/** Formats an event. */
export function frame(event: string, data: object, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Formats the id of a stream of one list. */
export function idOf(timestamp: number): string {
  return timestamp.toString(36);
}

/** Returns a stream that sends the parts, and stays open unless the last one cuts it. */
export function streamOf(parts: Script, signal: AbortSignal): Response {
  const encoder = new TextEncoder();
  const waiting = [...parts];
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      signal.addEventListener('abort', () => {
        try {
          controller.error(new DOMException('aborted', 'AbortError'));
        } catch {
          // It has ended already.
        }
      });
    },
    async pull(controller) {
      if (waiting.length === 0) {
        // Open, and silent.
        await new Promise(() => {});
      }
      const part = waiting.shift();
      if (part === undefined) controller.error(new TypeError('cut'));
      else controller.enqueue(encoder.encode(part));
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
}

/** Returns a `fetch` that answers each request with the next handler; the last one answers all further requests. */
export function stubFetch(handlers: readonly ((request: StubRequest) => Response)[]): {
  readonly fetch: typeof fetch;
  readonly requests: readonly StubRequest[];
} {
  const requests: StubRequest[] = [];
  const answer = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input);
    const request = {
      method: init.method ?? 'GET',
      target: url.pathname.replace(/^\/v1/, '') + url.search,
      signal: init.signal ?? new AbortController().signal,
    };
    requests.push(request);
    return handlers[Math.min(requests.length, handlers.length) - 1]!(request);
  };
  return { fetch: answer, requests };
}
