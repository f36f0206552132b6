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
  for (let attempt = 1; ; attempt++) {
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
      if (error.lists.length > 0) contended = error.lists;
      // Longer and more random each time, so that the parties to a race do not meet again.
      await wait(Math.random() * 2 ** attempt);
    }
  }
}
