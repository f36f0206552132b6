// IPC messages about metrics. The worker that receives a client request asks the primary process, which asks all
// workers.

/**
 * Messages of a worker: a request for the metrics of all workers, and its own metrics, on request or before it stops.
 */
export type FromWorker =
  | { readonly kind: 'metrics wanted'; readonly request: number }
  | { readonly kind: 'metrics'; readonly round?: number | undefined; readonly snapshot: unknown };

/** Messages to a worker: a request for its metrics, and the metrics of all workers. */
export type ToWorker =
  | { readonly kind: 'send metrics'; readonly round: number }
  | { readonly kind: 'all metrics'; readonly request: number; readonly text: string };

/** Returns a message of a worker about metrics, or `undefined` for other messages. */
export function readFromWorker(given: unknown): FromWorker | undefined {
  if (!hasKind(given)) return undefined;
  if (given.kind === 'metrics wanted' && isNumber(given, 'request')) return given as FromWorker;
  return given.kind === 'metrics' && 'snapshot' in given ? (given as FromWorker) : undefined;
}

/** Returns a message to a worker about metrics, or `undefined` for other messages. */
export function readToWorker(given: unknown): ToWorker | undefined {
  if (!hasKind(given)) return undefined;
  if (given.kind === 'send metrics' && isNumber(given, 'round')) return given as ToWorker;
  const isAnswer = given.kind === 'all metrics' && isNumber(given, 'request') && 'text' in given;
  return isAnswer ? (given as ToWorker) : undefined;
}

function hasKind(given: unknown): given is { readonly kind: unknown } {
  return typeof given === 'object' && given !== null && 'kind' in given;
}

function isNumber<K extends string>(given: object, key: K): given is Record<K, number> {
  return key in given && typeof (given as Record<K, unknown>)[key] === 'number';
}
