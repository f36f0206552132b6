// What workers and their first process say to each other about metrics. Whoever is asked for metrics by a client asks
// the first process, which asks all workers.

/** From a worker: tell me everything; here is what I have, after a question or just before I end. */
export type FromWorker =
  | { readonly kind: 'metrics wanted'; readonly request: number }
  | { readonly kind: 'metrics'; readonly round?: number | undefined; readonly snapshot: unknown };

/** To a worker: send what you have; here is what all have. */
export type ToWorker =
  | { readonly kind: 'send metrics'; readonly round: number }
  | { readonly kind: 'all metrics'; readonly request: number; readonly text: string };

/** What a worker said about metrics; `undefined` for anything else. */
export function readFromWorker(given: unknown): FromWorker | undefined {
  if (!hasKind(given)) return undefined;
  if (given.kind === 'metrics wanted' && isNumber(given, 'request')) return given as FromWorker;
  return given.kind === 'metrics' && 'snapshot' in given ? (given as FromWorker) : undefined;
}

/** What a worker is told about metrics; `undefined` for anything else. */
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
