// Notices of the operator in responses: backoff and end of service.
import { ServiceError } from '../core/errors.ts';
import type { Clock } from '../base/clock.ts';
import { formatAlert } from '../engine/warnings.ts';
import type { ResponseHeaders } from '../engine/exchange.ts';

export interface OperatorNoticeOptions {
  /** Seconds in the `Backoff` header; `undefined` for no header. */
  readonly backoffSeconds: number | undefined;
  /** Percentage of responses with that header; `undefined` for all. */
  readonly backoffPercentage: number | undefined;
  /** End of service in milliseconds since 1970; `undefined` for none. */
  readonly endOfService: number | undefined;
  readonly endOfServiceMessage: string;
  readonly endOfServiceUrl: string;
}

export class OperatorNotices {
  readonly #options: OperatorNoticeOptions;
  readonly #clock: Clock;
  readonly #random: () => number;

  constructor(options: OperatorNoticeOptions, clock: Clock, random: () => number = Math.random) {
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
  }

  /** @throws ServiceError serviceDeprecated after the end of service */
  requireOpen(): void {
    if (this.#hasEnded()) {
      const { endOfServiceMessage } = this.#options;
      throw new ServiceError('serviceDeprecated', { message: endOfServiceMessage || undefined });
    }
  }

  /** Adds `Backoff` and the end-of-service `Alert`. */
  addTo(headers: ResponseHeaders): void {
    const { backoffSeconds, backoffPercentage, endOfService } = this.#options;
    if (backoffSeconds !== undefined && (backoffPercentage === undefined || this.#random() * 100 < backoffPercentage)) {
      headers['Backoff'] = String(backoffSeconds);
    }
    if (endOfService !== undefined) {
      const code = this.#hasEnded() ? 'hard-eol' : 'soft-eol';
      headers['Alert'] = formatAlert(code, this.#options.endOfServiceMessage, this.#options.endOfServiceUrl);
    }
  }

  #hasEnded(): boolean {
    const { endOfService } = this.#options;
    return endOfService !== undefined && this.#clock.now() >= endOfService;
  }
}
