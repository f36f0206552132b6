// Follows a list without live updates: asks for changes from time to time, as other servers with the same protocol require.
import type { LiveUpdate, ObjectList } from '@coffer/client';
import type { Incoming } from './copy.ts';
import { isFailure, isRefusal } from './failures.ts';
import type { Condition } from './selector.ts';

type Updates = AsyncIterable<LiveUpdate<Incoming>>;

export interface PollOptions {
  readonly since: string | undefined;
  readonly filter?: Condition;
  readonly signal: AbortSignal;
  /** Waits until the next request. */
  readonly pause: () => Promise<void>;
}

/** Yields what live updates yield. */
export async function* pollChanges(
  list: ObjectList<Incoming>,
  { since, filter, signal, pause }: PollOptions,
): AsyncGenerator<LiveUpdate<Incoming>> {
  const condition = { filter: filter as never };
  let cursor = since;
  while (!signal.aborted) {
    if (cursor === undefined) {
      const { data, etag } = await list.list({ ...condition, signal }).all();
      cursor = etag;
      yield { changes: data, cursor, current: false };
    }
    // In this order, a record that changes while pages are read moves to the end.
    const options = { ...condition, gone: filter !== undefined, since: cursor, signal };
    const changes = list.changes({ ...options, sort: ['last_modified'] });
    const page = await changes.all().catch((error: unknown) => {
      if (!isRefusal(error, 410)) throw error;
    });
    if (!page || page.resync !== undefined) {
      cursor = undefined;
      yield { changes: [], cursor: '0', current: false, resync: 'horizon' };
      continue;
    }
    cursor = page.etag;
    yield { changes: page.data, cursor, current: true };
    await pause();
  }
}

/** Polls where the service has no live updates, which it says before the first update. */
export async function* orPolls(followed: Updates, poll: () => Updates): AsyncGenerator<LiveUpdate<Incoming>> {
  let hasBegun = false;
  try {
    for await (const update of followed) {
      hasBegun = true;
      yield update;
    }
    return;
  } catch (error) {
    if (hasBegun || !isFailure(error, 400, 405, 501)) throw error;
  }
  yield* poll();
}
