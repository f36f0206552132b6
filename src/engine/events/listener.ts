// Listeners that the configuration names (`event_listeners`): what implements one, and what it is made from.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../contracts/logger.ts';
import type { Objects } from '../objects.ts';
import type { Stores } from '../unit-of-work.ts';
import type { EventScope, NamedEvent, ResourceEvent } from './event.ts';

export interface ListenerContext {
  /** As in `event_listeners`. */
  readonly name: string;
  /** Value of `event_listeners.<name>.<parameter>`, or `undefined`. */
  readonly parameter: (parameter: string) => string | undefined;
  readonly stores: Stores;
  readonly objects: Objects;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether nothing may be written to the storage. */
  readonly isReadonly: boolean;
}

export interface Listener {
  /**
   * Whether it is called inside the unit of work, where throwing undoes everything, unless the setting
   * `event_listeners.<name>.sync` says otherwise; default `true`.
   */
  readonly isSync?: boolean;
  /**
   * Hears of one event.
   *
   * @param scope the unit of work; `undefined` for listeners that are called after the commit
   */
  readonly handle: (event: ResourceEvent, scope?: EventScope) => void | Promise<void>;
  /**
   * Hears of one event of those that the setting `event_listeners.<name>.events` names, inside the unit of work or after the
   * commit as above. Without it that setting is an error.
   */
  readonly handleNamed?: (event: NamedEvent, scope?: EventScope) => void | Promise<void>;
  /** Called before the service listens. */
  readonly start?: () => void | Promise<void>;
  /** Called when nothing is in flight any more. */
  readonly stop?: () => void | Promise<void>;
}

/**
 * Makes a listener from its settings.
 *
 * @throws Error when they do not fit; the service does not start then
 */
export type ListenerFactory = (context: ListenerContext) => Listener | Promise<Listener>;
