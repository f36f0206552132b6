// Wraps subscribers to events, so that the time they take is observed.
import type { Observer } from '../contracts/observer.ts';
import type { Subscriber } from '../engine/events/subscriber.ts';

/** The same subscriber, observed. */
export function observeSubscriber(
  subscriber: Subscriber,
  part: 'listeners' | 'plugins',
  observer: Observer,
): Subscriber {
  const { name } = subscriber;
  const handle = subscriber.handle as (...args: readonly unknown[]) => void | Promise<void>;
  const timed = async (...args: readonly unknown[]): Promise<void> => {
    const startedAt = performance.now();
    try {
      await handle.apply(subscriber, [...args]);
    } finally {
      observer.observe({ kind: 'timing', part, name, milliseconds: performance.now() - startedAt });
    }
  };
  return { ...subscriber, handle: timed };
}
