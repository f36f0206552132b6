// One outer request from beginning to end: a unit of work around its dispatch, run again as a whole when the database
// says that it lost a race.
import { setTimeout as wait } from 'node:timers/promises';
import { TransactionConflict } from '../contracts/errors.ts';
import type { AuthenticationPolicy } from '../contracts/authentication.ts';
import type { ListKey } from '../core/objects/stored.ts';
import type { Logger } from '../contracts/logger.ts';
import type { ServiceRequest, ServiceResponse } from '../engine/exchange.ts';
import { Session, type Stores } from '../engine/session.ts';
import type { Dispatcher } from './dispatch.ts';
import { Identities } from './identity.ts';

export interface RunnerOptions {
  readonly dispatcher: Dispatcher;
  readonly stores: Stores;
  readonly policies: readonly AuthenticationPolicy[];
  readonly logger: Logger;
}

const maxAttempts = 8;

export interface Answer {
  readonly response: ServiceResponse;
  /** Of the caller, for logs; `undefined` when anonymous or never asked for. */
  readonly userId: string | undefined;
}

/** Answers a request; whatever it wrote is committed, or leaves no trace when the answer says 500 or more. */
export async function runRequest(options: RunnerOptions, request: ServiceRequest): Promise<Answer> {
  const { dispatcher, stores, policies, logger } = options;
  let contended: readonly ListKey[] = [];
  for (let attempt = 1; ;) {
    const session = new Session(stores, logger, contended);
    const identities = new Identities(policies);
    try {
      const response = await dispatcher.dispatch(request, { session, identities });
      await session.end(response.status < 500);
      return { response, userId: identities.userId };
    } catch (error) {
      await session.abandon();
      if (!(error instanceof TransactionConflict) || attempt === maxAttempts) {
        return { response: dispatcher.refuse(request, error), userId: identities.userId };
      }
      const known = contended.length;
      contended = union(contended, error.lists);
      // An attempt that has learned of another list does not count: a request can only touch so many.
      if (contended.length === known) attempt++;
      // Longer and more random each time, so that the parties to a race do not meet again.
      await wait(Math.random() * 2 ** attempt);
    }
  }
}

/** What an attempt lost over may be the first of many lists that an earlier one has learned about. */
function union(known: readonly ListKey[], added: readonly ListKey[]): readonly ListKey[] {
  return [...known, ...added.filter((a) => !known.some((b) => a.parent === b.parent && a.kind === b.kind))];
}
