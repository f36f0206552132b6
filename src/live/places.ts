// Counts open streams and waits, of the process and of each user.
import { ServiceError } from '../core/errors.ts';
import type { UserId } from '../core/permissions/principals.ts';

export interface PlaceLimits {
  readonly maxStreams: number;
  readonly maxStreamsPerUser: number;
}

export class Places {
  readonly #limits: PlaceLimits;
  readonly #ofUsers = new Map<string, number>();
  #taken = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /**
   * Requires a free place. Anonymous callers are limited by the process and by the connections of their address.
   *
   * @throws ServiceError overloaded
   */
  requireFree(userId: UserId | undefined): void {
    const { maxStreams, maxStreamsPerUser } = this.#limits;
    if (this.#taken >= maxStreams) throw refused(`This process serves at most ${maxStreams} streams and long polls.`);
    if (userId !== undefined && (this.#ofUsers.get(userId) ?? 0) >= maxStreamsPerUser) {
      throw refused(`A user may have at most ${maxStreamsPerUser} streams and long polls.`);
    }
  }

  /**
   * Takes a place, and returns a function that gives it back, once.
   *
   * @throws ServiceError overloaded when other requests took the last places meanwhile
   */
  take(userId: UserId | undefined): () => void {
    this.requireFree(userId);
    this.#add(userId, 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#add(userId, -1);
      isTaken = false;
    };
  }

  #add(userId: UserId | undefined, number: 1 | -1): void {
    this.#taken += number;
    if (userId === undefined) return;
    const count = (this.#ofUsers.get(userId) ?? 0) + number;
    if (count === 0) this.#ofUsers.delete(userId);
    else this.#ofUsers.set(userId, count);
  }
}

function refused(message: string): ServiceError {
  return new ServiceError('overloaded', { message: `${message} The request may be retried.` });
}
