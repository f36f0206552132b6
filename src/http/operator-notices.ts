// What the operator announces on every response: back off, end of service.
import { ServiceError } from '../core/errors.ts';
import type { Clock } from '../base/clock.ts';
import { formatAlert } from '../engine/alert.ts';
import type { ResponseHeaders } from '../engine/exchange.ts';

export interface OperatorNoticeOptions {
  /** Seconds for the `Backoff` header; `undefined`: none. */
  readonly backoffSeconds: number | undefined;
  /** Share of responses that carry it, 0 to 100; `undefined`: all. */
  readonly backoffPercentage: number | undefined;
  /** End of service, milliseconds since 1970; `undefined`: none planned. */
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

  /** @throws ServiceError serviceDeprecated once the end of service has come */
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
