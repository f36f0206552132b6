// What the first process and its workers say to each other. To stop, a worker is sent SIGTERM, as others may do, too.

/** From a worker: it listens; it has answered everything and takes no more connections. */
export type WorkerMessage = { readonly kind: 'listening'; readonly url: string } | { readonly kind: 'closed' };

/**
 * To a worker: finish, others take over; no connection is on its way to you any more.
 *
 * Connections are accepted by the first process and handed to workers. One may be on its way to a worker that no longer
 * listens; the worker hands it back, which it only can while it lives. So it ends after the answer to `closed`.
 */
export type PrimaryMessage = { readonly kind: 'retire' } | { readonly kind: 'goodbye' };

/** What a worker said; `undefined` for anything else. */
export function readWorkerMessage(given: unknown): WorkerMessage | undefined {
  if (!hasKind(given)) return undefined;
  if (given.kind === 'closed') return { kind: 'closed' };
  if (given.kind !== 'listening' || !('url' in given) || typeof given.url !== 'string') return undefined;
  return { kind: 'listening', url: given.url };
}

/** What a worker is told; `undefined` for anything else. */
export function readPrimaryMessage(given: unknown): PrimaryMessage | undefined {
  if (!hasKind(given)) return undefined;
  return given.kind === 'retire' || given.kind === 'goodbye' ? { kind: given.kind } : undefined;
}

function hasKind(given: unknown): given is { readonly kind: unknown } {
  return typeof given === 'object' && given !== null && 'kind' in given;
}
