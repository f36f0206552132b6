// Mutation functions for the outbox of `@tanstack/offline-transactions`.
import { ConflictError } from './conflicts.ts';
import { isFailure, isTaken, retryAfterOf } from './failures.ts';
import type { Mutation } from './writer.ts';

export interface OfflineOptions {
  /** `NonRetriableError` of `@tanstack/offline-transactions`: the outbox drops mutations that fail with it. */
  readonly NonRetriableError: new (message: string) => Error;
  /** Called with mutations that the service refuses for good, before they are rolled back and dropped. */
  readonly onRefused?: (error: Error, mutations: readonly Mutation[]) => void | Promise<void>;
}

interface Params {
  readonly transaction: { readonly mutations: readonly Mutation[] };
}

/** What the function uses of a collection. */
interface Persisting {
  readonly utils: { readonly persist?: (mutations: readonly Mutation[]) => Promise<void> };
}

/**
 * Returns a mutation function that sends the mutations of a transaction, collection by collection. Failures of the network
 * and of the service, and expired credentials, are repeated by the outbox. What the service refuses for good is not.
 */
export function cofferMutationFn(options: OfflineOptions): (params: Params) => Promise<void> {
  /** Until when the service wants no requests of a collection, by the clock of `performance.now()`, and the error that says so. */
  const quiet = new WeakMap<Persisting, { readonly until: number; readonly cause: unknown }>();
  return async ({ transaction: { mutations } }) => {
    const byCollection = new Map<Persisting, Mutation[]>();
    for (const mutation of mutations) {
      const collection = mutation.collection as unknown as Persisting;
      const others = byCollection.get(collection);
      if (others === undefined) byCollection.set(collection, [mutation]);
      else others.push(mutation);
    }
    for (const [collection, own] of byCollection) {
      const { persist } = collection.utils;
      if (persist === undefined) throw new options.NonRetriableError('Not a collection of this adapter.');
      const { until = 0, cause } = quiet.get(collection) ?? {};
      // The outbox knows no pauses but its own.
      if (performance.now() < until) throw sentLater(cause);
      try {
        await persist(own);
      } catch (error) {
        if (!isFinal(error)) {
          quiet.set(collection, { until: performance.now() + retryAfterOf(error), cause: error });
          throw sentLater(error);
        }
        await options.onRefused?.(error, own);
        const refusal = new options.NonRetriableError(error.message);
        refusal.cause = error;
        throw refusal;
      }
    }
  };
}

/** The outbox searches messages for numbers of errors that it does not repeat, so this one has none. */
function sentLater(cause: unknown): Error {
  return new Error('Sent again later.', { cause });
}

/** Whether the same mutation will always fail. */
function isFinal(error: unknown): error is Error {
  if (error instanceof ConflictError) return true;
  if (!isFailure(error)) return false;
  if (error.kind !== 'http') return error.kind === 'validation';
  const { status } = error;
  if (isTaken(error)) return true;
  if (!error.isFromService) return false;
  return status === 507 || (status >= 400 && status < 500 && ![401, 408, 409, 425, 429].includes(status));
}
