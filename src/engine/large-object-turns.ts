// Serialises changes of one large object in this process, from reading it until the response. Each change starts from the
// result of the previous one, so none repeats slow work after a conflict over the lock.
import type { ObjectUri } from '../core/objects/uris.ts';
import { StaleState } from './conditional-write.ts';
import type { Context } from './context.ts';
import type { RequestBody } from './exchange.ts';

/** The latest turn by URI of the object; settles when the turn ends. */
const lastTurns = new Map<string, Promise<void>>();

/** Requests that have a turn, which they keep when they run again. */
const holders = new WeakSet<RequestBody>();

/**
 * Waits for the turn of a request, which ends with the request. Entries of batches, and requests that have begun to write,
 * take no turns: they hold locks that others may wait for.
 *
 * @throws StaleState after a wait, since the request before has probably changed the object
 */
export async function takeLargeObjectTurn(uri: ObjectUri, { request, unit }: Context): Promise<void> {
  const { body } = request;
  if (!body.isOfRequest || unit.isWriting || holders.has(body)) return;
  holders.add(body);
  const before = lastTurns.get(uri);
  let end = (): void => {};
  const turn = new Promise<void>((resolve) => {
    end = resolve;
  });
  lastTurns.set(uri, turn);
  body.onRelease(async () => {
    if (lastTurns.get(uri) === turn) lastTurns.delete(uri);
    end();
  });
  if (before === undefined) return;
  await before;
  throw new StaleState();
}
