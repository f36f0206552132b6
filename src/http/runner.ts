// Runs an outer request: a unit of work around its dispatch, which is retried as a whole after a conflict in the database, and
// the observation of the result.
import type { Logger } from '../contracts/logger.ts';
import type { Observer } from '../contracts/observer.ts';
import type { Requester } from '../contracts/requester.ts';
import type { UserId } from '../core/permissions/principals.ts';
import type { ServiceRequest, ServiceResponse } from '../engine/exchange.ts';
import type { Subscribers } from '../engine/events/subscriber.ts';
import { Retry } from '../engine/retry.ts';
import { DatabaseUnit } from '../engine/database-unit.ts';
import { WorkAwaited } from '../engine/work-ahead.ts';
import type { Stores } from '../engine/unit-of-work.ts';
import { ServiceError } from '../core/errors.ts';
import { partyOf } from './address-group.ts';
import type { Dispatcher, Reopened } from './dispatch.ts';
import { Identities, type IdentitySources } from './identity.ts';
import { CompletedOuterRequest, Note } from './observed-request.ts';
import type { RateLimits } from './rate-limits/rate-limits.ts';

export interface RunnerOptions extends IdentitySources {
  readonly dispatcher: Dispatcher;
  readonly stores: Stores;
  /** Subscribers to events of requests. */
  readonly subscribers: Subscribers;
  readonly logger: Logger;
  /** Observer, if one is set. */
  readonly observer?: Observer | undefined;
  /** Rate limits, if any are set. */
  readonly rateLimits?: RateLimits | undefined;
}

interface RunResult {
  readonly response: ServiceResponse;
  /** User id of the caller, for logs; `undefined` when it is anonymous or was not identified. */
  readonly userId: UserId | undefined;
  /** Collected facts, with an observer. */
  readonly note: Note | undefined;
}

/** Handles a request. Its writes are committed, or rolled back when the status is 500 or above. */
async function runRequest(options: RunnerOptions, request: ServiceRequest): Promise<RunResult> {
  const answer = await runUntilAnswered(options, request);
  const released = request.body.release();
  if (released === undefined) return answer;
  try {
    await released;
  } catch (error) {
    options.logger.error({ err: error, rid: request.id }, 'Temporary data of a request could not be removed');
  }
  return answer;
}

async function runUntilAnswered(options: RunnerOptions, request: ServiceRequest): Promise<RunResult> {
  const { dispatcher, stores, subscribers, logger, observer } = options;
  const retry = new Retry();
  const admission = options.rateLimits?.begin();
  const reopen = (): Reopened => reopenUnit(options, request);
  for (;;) {
    const { contended, isFirst } = retry;
    // From the second attempt on, the unit of work shares no transaction with others.
    const identities = new Identities(options);
    const unit = new DatabaseUnit(stores, logger, {
      contended,
      attempts: retry,
      subscribers,
      allowsSharing: isFirst,
      requester: new RequestClient(request, identities),
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
      if (error instanceof WorkAwaited) {
        // Requests that kept some while they wait for more could block each other.
        request.memory?.giveBack();
        const refusal = await retry.waitFor(error);
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
function reopenUnit(options: RunnerOptions, request: ServiceRequest): Reopened {
  const { stores, subscribers, logger } = options;
  const identities = new Identities(options);
  const unit = new DatabaseUnit(stores, logger, { subscribers, requester: new RequestClient(request, identities) });
  const response: ServiceResponse = { status: 200, headers: {}, body: '' };
  return {
    outer: { unit, identities, reopen: () => reopenUnit(options, request) },
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

/** The client of a request: the user once it has been authenticated. */
class RequestClient implements Requester {
  readonly #request: ServiceRequest;
  readonly #identities: Identities;

  constructor(request: ServiceRequest, identities: Identities) {
    this.#request = request;
    this.#identities = identities;
  }

  get party(): string | undefined {
    return partyOf(this.#identities.userId, this.#request.clientAddress);
  }

  whenGone(abandon: (error: Error, isCertain: boolean) => void): () => void {
    const error = (): Error => new ServiceError('overloaded', { message: 'The client has closed the connection.' });
    return this.#request.whenGone?.((isCertain) => abandon(error(), isCertain)) ?? ((): void => {});
  }
}

/**
 * Sends the events of the request to subscribers, unless it will be rolled back. Those that wait for the commit are called
 * after it.
 *
 * @returns the response, which subscribers may have changed
 * @throws the error of a subscriber, which becomes the response and rolls the request back
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

/** Handles a request and informs the observer, if one is set. */
export function respond(runner: RunnerOptions, request: ServiceRequest): Promise<ServiceResponse> {
  const { observer } = runner;
  return observer === undefined
    ? runRequest(runner, request).then(({ response }) => response)
    : observed(observer, request, () => runRequest(runner, request));
}

/** Responds to a request that was refused before the runner, and informs the observer. */
export async function respondWithRefusal(
  { observer, dispatcher }: RunnerOptions,
  request: ServiceRequest,
  error: unknown,
): Promise<ServiceResponse> {
  const response = dispatcher.refuse(request, error);
  if (observer === undefined) return response;
  return observed(observer, request, () => Promise.resolve({ response, userId: undefined, note: undefined }));
}

async function observed(
  observer: Observer,
  request: ServiceRequest,
  run: () => Promise<RunResult>,
): Promise<ServiceResponse> {
  const startedAt = performance.now();
  const work = async (): Promise<CompletedOuterRequest> => {
    const result = await run();
    return new CompletedOuterRequest(request, result.response, result, startedAt);
  };
  const { method, headers } = request;
  const completed = await (observer.enclose?.({ kind: 'request', method, headers }, work) ?? work());
  observer.observe(completed);
  return completed.response;
}
