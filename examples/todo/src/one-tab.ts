// Chooses the tab that has an outbox: the first one, and when it closes, one of those that wait.
import type { LeaderElection } from '@tanstack/offline-transactions';

export class OneTab implements LeaderElection {
  readonly #lock: string;
  readonly #listeners = new Set<(isLeader: boolean) => void>();
  readonly #ended = new AbortController();
  #isLeader = false;
  #release: () => void = () => undefined;

  constructor(lock: string) {
    this.#lock = lock;
  }

  /** Resolves at once to whether this tab has the outbox. It goes on waiting otherwise, unlike `WebLocksLeader`. */
  async requestLeadership(): Promise<boolean> {
    const isFree = await new Promise<boolean>((resolve) => {
      const request = navigator.locks.request(this.#lock, { ifAvailable: true }, (lock) => {
        resolve(lock !== null);
        return lock === null ? undefined : this.#hold();
      });
      request.catch(() => resolve(false));
    });
    if (!isFree) {
      const { signal } = this.#ended;
      navigator.locks.request(this.#lock, { signal }, () => this.#hold()).catch(() => undefined);
    }
    return isFree;
  }

  releaseLeadership(): void {
    this.#ended.abort();
    this.#isLeader = false;
    this.#release();
  }

  isLeader(): boolean {
    return this.#isLeader;
  }

  onLeadershipChange(listener: (isLeader: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #hold(): Promise<void> {
    this.#isLeader = true;
    for (const listener of this.#listeners) listener(true);
    return new Promise((resolve) => {
      this.#release = resolve;
    });
  }
}
