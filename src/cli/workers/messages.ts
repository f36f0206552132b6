// Messages between the primary process and its workers. SIGTERM stops a worker, whatever process sends it.

/** From a worker: it listens; it has completed all requests and accepts no more connections; it answers a `ping`. */
export type WorkerMessage =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'closed' }
  | { readonly kind: 'pong' };

/**
 * To a worker: `retire` asks it to finish, because others take over; `goodbye` confirms that no connection is in transit to it;
 * `ping` asks whether it responds.
 *
 * The primary process accepts connections and passes them to workers. One may be in transit to a worker that no longer
 * listens, which must pass it back. So a worker exits only after the reply to `closed`.
 */
export type PrimaryMessage = { readonly kind: 'retire' | 'goodbye' | 'ping' };

/** Parses a message from a worker; `undefined` for any other value. */
export function readWorkerMessage(given: unknown): WorkerMessage | undefined {
  if (!hasKind(given)) return undefined;
  if (given.kind === 'closed' || given.kind === 'pong') return { kind: given.kind };
  if (given.kind !== 'listening' || !('url' in given) || typeof given.url !== 'string') return undefined;
  return { kind: 'listening', url: given.url };
}

/** Parses a message to a worker; `undefined` for any other value. */
export function readPrimaryMessage(given: unknown): PrimaryMessage | undefined {
  if (!hasKind(given)) return undefined;
  const { kind } = given;
  return kind === 'retire' || kind === 'goodbye' || kind === 'ping' ? { kind } : undefined;
}

function hasKind(given: unknown): given is { readonly kind: unknown } {
  return typeof given === 'object' && given !== null && 'kind' in given;
}
