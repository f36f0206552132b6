// Everybody who looks on, as one: the access log, the log of slow operations, traces, and what plugins bring. Knows
// before the backends are wrapped whether anybody will.
import type { Logger } from '../contracts/logger.ts';
import type { Answered, Observation, Observer, Task } from '../contracts/observer.ts';

/** Hands each observation on to all others. One that fails does so alone, and says why in the log. */
export class Observers implements Observer {
  readonly #logger: Logger;
  #members: readonly Observer[] = [];
  /** There only once somebody encloses, so that nothing is run inside of nothing. */
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

function encloseAll<T extends Answered>(members: readonly Observer[], task: Task, work: () => Promise<T>): Promise<T> {
  const [first, ...others] = members;
  if (first === undefined) return work();
  const rest = (): Promise<T> => encloseAll(others, task, work);
  return first.enclose === undefined ? rest() : first.enclose(task, rest);
}
