// The log of slow operations: what was done to which backend and list, never with which values.
import type { Logger } from '../contracts/logger.ts';
import type { Observer } from '../contracts/observer.ts';

/** Writes a line for each backend operation that takes at least so long. */
export function slowOperations(logger: Logger, thresholdMs: number): Observer {
  return {
    observe(observation) {
      if (observation.kind !== 'operation' || observation.milliseconds < thresholdMs) return;
      const { backend, engine, method, list, milliseconds } = observation;
      logger.warn(
        { backend, engine, operation: method, kind: list?.kind, parent: list?.parent, t: Math.round(milliseconds) },
        'Slow operation',
      );
    },
  };
}
