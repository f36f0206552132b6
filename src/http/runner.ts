// One outer request from beginning to end: a unit of work around its dispatch, run again as a whole when the database
// says that it lost a race.
import type { Logger } from '../contracts/logger.ts';
import type { Observer } from '../contracts/observer.ts';
import { MemoryAwaited, type ServiceRequest, type ServiceResponse } from '../engine/exchange.ts';
import type { Subscribers } from '../engine/events/subscriber.ts';
import { Retry } from '../engine/retry.ts';
import { DatabaseUnit } from '../engine/database-unit.ts';
import type { Stores } from '../engine/unit-of-work.ts';
import type { Dispatcher, Reopened } from './dispatch.ts';
import { Identities, type IdentitySources } from './identity.ts';
import { Note } from './observed-request.ts';
import type { RateLimits } from './rate-limits/rate-limits.ts';

export interface RunnerOptions extends IdentitySources {
  readonly dispatcher: Dispatcher;
  readonly stores: Stores;
  /** Who hears of what requests do. */
  readonly subscribers: Subscribers;
  readonly logger: Logger;
  /** Who looks on, if anybody does. */
  readonly observer?: Observer | undefined;
  /** Where there are any. */
  readonly rateLimits?: RateLimits | undefined;
}

export interface Answer {
  readonly response: ServiceResponse;
  /** Of the caller, for logs; `undefined` when anonymous or never asked for. */
  readonly userId: string | undefined;
  /** What was found out on the way, when somebody observes. */
  readonly note: Note | undefined;
}

/** Answers a request; whatever it wrote is committed, or leaves no trace when the answer says 500 or more. */
export async function runRequest(options: RunnerOptions, request: ServiceRequest): Promise<Answer> {
  const answer = await runUntilAnswered(options, request);
  const released = request.body.release();
  if (released === undefined) return answer;
  try {
    await released;
  } catch (error) {
    options.logger.error({ err: error, rid: request.id }, 'What a request left behind could not be removed');
  }
  return answer;
}

async function runUntilAnswered(options: RunnerOptions, request: ServiceRequest): Promise<Answer> {
  const { dispatcher, stores, subscribers, logger, observer } = options;
  const retry = new Retry();
  const admission = options.rateLimits?.begin();
  const reopen = (): Reopened => reopenUnit(options);
  for (;;) {
    const { contended, isFirst } = retry;
    // What has failed together with others is done by itself from the second attempt on.
    const identities = new Identities(options);
    const unit = new DatabaseUnit(stores, logger, {
      contended,
      subscribers,
      allowsSharing: isFirst,
      user: identities,
    });
    const note = observer === undefined ? undefined : new Note(observer);
    try {
      const dispatched = await dispatcher.dispatch(request, { unit, identities, note, admission, reopen });
      const response = unit.hasEvents ? await fireEvents(unit, dispatched, logger) : dispatched;
      if (unit.hasConsequences) await unit.end(response.status < 500);
      admission?.addTo(response.headers);
      return { response, userId: identities.userId, note };
    } catch (error) {
      await unit.abandon();
      if (error instanceof MemoryAwaited) {
        const refusal = await waitForMemory(error);
        if (refusal !== undefined) {
          return { response: dispatcher.refuse(request, refusal.error), userId: identities.userId, note };
        }
        admission?.rewind();
        continue;
      }
      const { attempt } = retry;
      if (!retry.allows(error)) {
        return { response: dispatcher.refuse(request, error), userId: identities.userId, note };
      }
      observer?.observe({ kind: 'retry', attempt });
      admission?.rewind();
      await retry.backOff();
    }
  }
}

/** Opens a unit of work for what a request does after its response has begun. It reads, and may create clocks of lists. */
function reopenUnit(options: RunnerOptions): Reopened {
  const { stores, subscribers, logger } = options;
  const identities = new Identities(options);
  const unit = new DatabaseUnit(stores, logger, { subscribers, user: identities });
  const response: ServiceResponse = { status: 200, headers: {}, body: '' };
  return {
    outer: { unit, identities, reopen: () => reopenUnit(options) },
    async end() {
      try {
        if (unit.hasEvents) await fireEvents(unit, response, logger);
        if (unit.hasConsequences) await unit.end(true);
      } catch (error) {
        await unit.abandon();
        throw error;
      }
    },
  };
}

/** Returns why the memory was refused, if it was. */
async function waitForMemory(awaited: MemoryAwaited): Promise<{ readonly error: unknown } | undefined> {
  try {
    await awaited.reserve();
    return undefined;
  } catch (error) {
    return { error };
  }
}

/**
 * Tells subscribers what the request did, unless it is going to be undone; those who wait for the commit are called
 * after it.
 *
 * @returns the response, which subscribers may have changed
 * @throws whatever a subscriber throws: it becomes the response, and nothing is kept
 */
async function fireEvents(unit: DatabaseUnit, response: ServiceResponse, logger: Logger): Promise<ServiceResponse> {
  if (unit.isRollbackOnly || response.status >= 500) return response;
  const scope = { unit, response };
  await unit.events.fire(scope);
  for (const { name, handle } of unit.events.takeAfter()) {
    unit.afterCommit(async () => {
      try {
        await handle();
      } catch (error) {
        logger.error({ err: error, subscriber: name }, 'A subscriber failed after the commit');
      }
    });
  }
  return scope.response;
}
