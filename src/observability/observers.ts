// All observers as one: the access log, the log of slow operations, traces, and those of plugins.
import type { Logger } from '../contracts/logger.ts';
import type { Answered, Observation, Observer, Task } from '../contracts/observer.ts';

/** Passes each observation to all observers. A failure is logged and does not affect the other observers. */
export class Observers implements Observer {
  readonly #logger: Logger;
  #members: readonly Observer[] = [];
  /** Set when the first observer with `enclose` is added. */
  enclose?: NonNullable<Observer['enclose']>;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get isEmpty(): boolean {
    return this.#members.length === 0;
  }

  add(observer: Observer): void {
    this.#members = [...this.#members, observer];
    if (observer.enclose === undefined) return;
    this.enclose = (task, work) => encloseAll(this.#members, task, work);
  }

  observe(observation: Observation): void {
    for (const member of this.#members) {
      try {
        member.observe(observation);
      } catch (error) {
        this.#logger.error({ err: error, observation: observation.kind }, 'An observer failed');
      }
    }
  }
}

/** Returns an observer that logs each backend operation of at least this duration: its backend and list, never its values. */
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

function encloseAll<T extends Answered>(members: readonly Observer[], task: Task, work: () => Promise<T>): Promise<T> {
  const [first, ...others] = members;
  if (first === undefined) return work();
  const rest = (): Promise<T> => encloseAll(others, task, work);
  return first.enclose === undefined ? rest() : first.enclose(task, rest);
}
