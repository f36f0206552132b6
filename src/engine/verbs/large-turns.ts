// Changes to one large object take turns in this process, from the moment when they look at it until they are answered:
// each works on what the one before it has stored, and none has to do its work again while others wait for its lock.
import type { Context } from '../context.ts';
import type { RequestBody } from '../exchange.ts';

/** The last turn that was asked for, by URI of the object; settles when it ends. */
const lastTurns = new Map<string, Promise<void>>();

/** Requests that have had their turn given, which they keep when they are run again. */
const holders = new WeakSet<RequestBody>();

/**
 * Waits for the turn of a request, which ends with the request. Entries of batches and requests that have begun to write
 * take none: they hold locks that others may wait for.
 *
 * @returns whether it had to wait
 */
export async function takeLargeTurn(uri: string, { request, unit }: Context): Promise<boolean> {
  const { body } = request;
  if (!body.isOfRequest || unit.isWriting || holders.has(body)) return false;
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
  await before;
  return before !== undefined;
}
