// Limits downloads. The reader of a file determines how long it takes, so each user and each client address has a share.
import { finished, Readable } from 'node:stream';
import { FairTurns, type Waiting } from '../../base/fair-turns.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Context } from '../../engine/context.ts';
import type { ServiceRequest, ServiceResponse } from '../../engine/exchange.ts';
import { partyOf } from '../../http/address-group.ts';

export interface DownloadOptions {
  /** Maximum number of concurrent downloads. */
  readonly atOnce: number;
  /** Maximum time that a request waits for a place. */
  readonly waitMs: number;
}

/** Parts of all places that the users of one address, and one user, may hold. */
const shareOfAddress = 1 / 4;
const shareOfUser = 1 / 8;

export class Downloads {
  readonly #turns: FairTurns;
  readonly #options: DownloadOptions;

  constructor(options: DownloadOptions) {
    const { atOnce } = options;
    this.#options = options;
    this.#turns = new FairTurns({
      atOnce,
      ofParty: Math.ceil(atOnce * shareOfUser),
      ofGroup: Math.ceil(atOnce * shareOfAddress),
    });
  }

  /**
   * Opens a file when a place is free. The place is held until the body of the response ends or the client is gone. Entries of
   * batches, which may hold locks, do not wait: a batch closes the file. Neither does HEAD, which sends none.
   *
   * @param open gets whether the request has waited
   * @throws ServiceError overloaded when no place becomes free in time; otherwise the error of `open`
   */
  async run(
    { request, caller }: Context,
    open: (hasWaited: boolean) => Promise<ServiceResponse>,
  ): Promise<ServiceResponse> {
    // An entry of a batch has no connection of its own.
    if (request.whenGone === undefined || request.method === 'HEAD') return open(false);
    let hasWaited = false;
    const waits = (): void => {
      hasWaited = true;
    };
    const party = partyOf(caller.userId, request.clientAddress);
    const leave = await this.#turns.enter(this.#waiting(party, request, waits));
    let body: ServiceResponse['body'] = '';
    try {
      const response = await open(hasWaited);
      ({ body } = response);
      return response;
    } finally {
      if (body instanceof Readable) whenOver(body, request, leave);
      else leave();
    }
  }

  /** @param waits called if the request has to wait */
  #waiting(party: string | undefined, { whenGone }: ServiceRequest, waits: () => void): Waiting {
    const { atOnce, waitMs } = this.#options;
    return {
      party,
      whenGone: (abandon) => {
        waits();
        const refuse = (isCertain: boolean): void => abandon(new ServiceError('overloaded'), isCertain);
        // As many requests may wait as there are places.
        if (this.#turns.waiting > atOnce) {
          refuse(true);
          return () => {};
        }
        const timer = setTimeout(refuse, waitMs, true);
        const stop = whenGone?.(refuse);
        return () => {
          clearTimeout(timer);
          stop?.();
        };
      },
    };
  }
}

/** Calls the task when the body has ended. Closes a body whose client is gone, also if it was never read. */
function whenOver(body: Readable, { whenGone }: ServiceRequest, task: () => void): void {
  const stop = whenGone?.((isCertain) => {
    if (isCertain) body.destroy();
  });
  finished(body, { writable: false }, () => {
    stop?.();
    task();
  });
}
