// Listeners that the configuration names (`event_listeners`): their interface, and the factory that creates one.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../contracts/logger.ts';
import type { Objects } from '../objects.ts';
import type { Stores } from '../unit-of-work.ts';
import type { NamedEvent, ResourceEvent } from './event.ts';
import type { EventScope } from './subscriber.ts';

export interface ListenerContext {
  /** Name in `event_listeners`. */
  readonly name: string;
  /** Returns the value of `event_listeners.<name>.<parameter>`, or `undefined`. */
  readonly parameter: (parameter: string) => string | undefined;
  readonly stores: Stores;
  readonly objects: Objects;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the storage is read-only. */
  readonly isReadonly: boolean;
}

export interface Listener {
  /**
   * Whether it is called inside the unit of work, where throwing undoes everything; default `true`. The setting
   * `event_listeners.<name>.sync` overrides it.
   */
  readonly isSync?: boolean;
  /**
   * Handles one event.
   *
   * @param scope the unit of work; `undefined` for listeners that are called after the commit
   */
  readonly handle: (event: ResourceEvent, scope?: EventScope) => void | Promise<void>;
  /**
   * Handles one event of those that the setting `event_listeners.<name>.events` names, inside the unit of work or after the
   * commit as above. Absent: that setting is an error.
   */
  readonly handleNamed?: (event: NamedEvent, scope?: EventScope) => void | Promise<void>;
  /** Called before the service listens. */
  readonly start?: () => void | Promise<void>;
  /** Called when no request is in flight any more. */
  readonly stop?: () => void | Promise<void>;
}

/**
 * Creates a listener from its settings.
 *
 * @throws Error for wrong settings; the service does not start then
 */
export type ListenerFactory = (context: ListenerContext) => Listener | Promise<Listener>;
