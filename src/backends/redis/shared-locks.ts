// Shared locks on objects, which units of one process take while they write below the objects. A deletion of an object, or of a
// parent, waits for these locks, and new locks wait for the deletion. Between processes the commit detects such conflicts.
import { keyOfObject } from '../../core/lists/list-key.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Holder, LockWaits } from './lock-waits.ts';

/** What a unit claims: to keep an object, to delete one, or to delete everything in the lists at and below a URI. */
export type Claim =
  | { readonly kind: 'share' | 'delete'; readonly list: ListKey; readonly id: string }
  | { readonly kind: 'cascade'; readonly uri: ObjectUri };

interface Request {
  readonly claim: Claim;
  readonly holder: Holder;
}

interface Waiting extends Request {
  readonly resume: () => void;
}

export class SharedLocks {
  readonly #waits: LockWaits;
  readonly #granted = new Map<Holder, Map<string, Request>>();
  #waiting: Waiting[] = [];
  /** Number of claims to delete, granted or waiting. While it is 0, every lock is granted at once. */
  #removals = 0;

  constructor(waits: LockWaits) {
    this.#waits = waits;
  }

  /**
   * Waits until no other unit has a claim that excludes this one.
   *
   * @throws TransactionConflict when the wait would be a deadlock; BackendUnavailable when it takes too long
   */
  async take(claim: Claim, holder: Holder): Promise<void> {
    const own = this.#granted.get(holder);
    if (own?.has(nameOf(claim)) === true) return;
    const request: Request = { claim, holder };
    if (claim.kind !== 'share') this.#removals++;
    if (!this.#isBlocked(request)) {
      this.#grant(request);
      return;
    }
    await this.#wait(request);
  }

  /** Whether a deletion waits for the holder. */
  isInTheWay(holder: Holder): boolean {
    if (this.#removals === 0) return false;
    const own = [...(this.#granted.get(holder)?.values() ?? [])];
    return this.#waiting.some(({ claim }) => own.some((request) => excludes(request.claim, claim)));
  }

  /** Releases all claims of a holder. */
  release(holder: Holder): void {
    for (const { claim } of this.#granted.get(holder)?.values() ?? []) if (claim.kind !== 'share') this.#removals--;
    if (!this.#granted.delete(holder)) return;
    this.#admit();
  }

  /** Grants the waiting claims that no other claim excludes any more. */
  #admit(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const each of waiting) {
      // Earlier waiting claims exclude it as well, so that none of them starves.
      if (this.#isBlocked(each)) this.#waiting.push(each);
      else {
        this.#grant(each);
        each.resume();
      }
    }
  }

  async #wait(request: Request): Promise<void> {
    try {
      await this.#waits.wait(
        request.holder,
        () => this.#blockers(request),
        (resume) => {
          const waiting: Waiting = { ...request, resume };
          this.#waiting.push(waiting);
          return () => {
            this.#waiting = this.#waiting.filter((other) => other !== waiting);
          };
        },
      );
    } catch (error) {
      if (request.claim.kind !== 'share') this.#removals--;
      // Other claims may have waited for this one only.
      this.#admit();
      throw error;
    }
  }

  #grant(request: Request): void {
    const own = this.#granted.get(request.holder);
    if (own === undefined) this.#granted.set(request.holder, new Map([[nameOf(request.claim), request]]));
    else own.set(nameOf(request.claim), request);
  }

  #isBlocked(request: Request): boolean {
    if (request.claim.kind === 'share' && this.#removals === 0) return false;
    return this.#blockers(request).next().done !== true;
  }

  /** Yields the holders of claims that exclude this one, granted or waiting for longer. */
  *#blockers({ claim, holder }: Request): Generator<Holder, void, undefined> {
    for (const [other, requests] of this.#granted) {
      if (other === holder) continue;
      for (const request of requests.values()) if (excludes(request.claim, claim)) yield other;
    }
    for (const earlier of this.#waiting) {
      if (earlier.holder === holder) return;
      if (excludes(earlier.claim, claim)) yield earlier.holder;
    }
  }
}

function excludes(a: Claim, b: Claim): boolean {
  if (a.kind === 'share') return b.kind !== 'share' && removes(b, a);
  return b.kind === 'share' && removes(a, b);
}

function removes(claim: Claim, shared: Extract<Claim, { readonly list: ListKey }>): boolean {
  const { list, id } = shared;
  if (claim.kind === 'cascade') return list.parent === claim.uri || list.parent.startsWith(`${claim.uri}/`);
  return claim.id === id && claim.list.kind === list.kind && claim.list.parent === list.parent;
}

function nameOf(claim: Claim): string {
  return claim.kind === 'cascade' ? `cascade\0${claim.uri}` : `${claim.kind}\0${keyOfObject(claim.list, claim.id)}`;
}
