// Counts open streams and waits: of the process, of each user, and of each address without a user.
import { ServiceError } from '../core/errors.ts';
import type { UserId } from '../core/permissions/principals.ts';

export interface PlaceLimits {
  readonly maxStreams: number;
  readonly maxStreamsPerUser: number;
  /** 0: unlimited. */
  readonly maxStreamsPerAddress: number;
}

/** Who takes a place. */
export interface PlaceOwner {
  readonly userId: UserId | undefined;
  /** Network address of an anonymous caller; `undefined`: only the process limits its places. */
  readonly address: string | undefined;
}

export class Places {
  readonly #limits: PlaceLimits;
  readonly #ofUsers = new Map<string, number>();
  readonly #ofAddresses = new Map<string, number>();
  #taken = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /**
   * Requires a free place.
   *
   * @throws ServiceError overloaded
   */
  requireFree({ userId, address }: PlaceOwner): void {
    const { maxStreams, maxStreamsPerUser, maxStreamsPerAddress } = this.#limits;
    if (this.#taken >= maxStreams) throw refused(`This process serves at most ${maxStreams} streams and long polls.`);
    if (userId !== undefined && (this.#ofUsers.get(userId) ?? 0) >= maxStreamsPerUser) {
      throw refused(`A user may have at most ${maxStreamsPerUser} streams and long polls.`);
    }
    if (address === undefined || maxStreamsPerAddress === 0) return;
    if ((this.#ofAddresses.get(address) ?? 0) >= maxStreamsPerAddress) {
      throw refused(`An address may have at most ${maxStreamsPerAddress} anonymous streams and long polls.`);
    }
  }

  /**
   * Takes a place, and returns a function that gives it back, once.
   *
   * @throws ServiceError overloaded when other requests took the last places meanwhile
   */
  take(owner: PlaceOwner): () => void {
    this.requireFree(owner);
    this.#add(owner, 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#add(owner, -1);
      isTaken = false;
    };
  }

  #add({ userId, address }: PlaceOwner, number: 1 | -1): void {
    this.#taken += number;
    if (userId !== undefined) count(this.#ofUsers, userId, number);
    if (address !== undefined) count(this.#ofAddresses, address, number);
  }
}

function count(places: Map<string, number>, key: string, number: 1 | -1): void {
  const taken = (places.get(key) ?? 0) + number;
  if (taken === 0) places.delete(key);
  else places.set(key, taken);
}

function refused(message: string): ServiceError {
  return new ServiceError('overloaded', { message: `${message} The request may be retried.` });
}
