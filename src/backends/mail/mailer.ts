// The mailer: a transport, and an outbox of limited size for mail that is sent in the background.
import { setTimeout as wait } from 'node:timers/promises';
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { Logger } from '../../contracts/logger.ts';
import type { Mailer, MailMessage } from '../../contracts/mailer.ts';
import { fileTransport, maildirTransport } from './folder.ts';
import { smtpTransport, type SmtpOptions, type Transport } from './smtp.ts';

/** Destination of messages. */
export type Carrier =
  | { readonly kind: 'smtp'; readonly smtp: SmtpOptions }
  | { readonly kind: 'maildir' | 'files'; readonly folder: string }
  | { readonly kind: 'nowhere' };

export interface MailerOptions {
  readonly carrier: Carrier;
  readonly defaultSender: string;
  /** Maximum number of messages that wait in the background. */
  readonly maxWaiting: number;
  /** Seconds that `close` waits for them. */
  readonly closeTimeoutSeconds: number;
  readonly logger: Logger;
}

/** Creates a mailer of the given kind. It connects with the first message. */
export function createMailer(options: MailerOptions): Mailer {
  return new OutboxMailer(options, openTransport(options.carrier));
}

function openTransport(carrier: Carrier): Transport {
  switch (carrier.kind) {
    case 'smtp':
      return smtpTransport(carrier.smtp);
    case 'maildir':
      return maildirTransport(carrier.folder);
    case 'files':
      return fileTransport(carrier.folder);
    case 'nowhere':
      return { deliver: () => Promise.resolve(), close: () => undefined };
  }
}

class OutboxMailer implements Mailer {
  readonly #options: MailerOptions;
  readonly #transport: Transport;
  readonly #pending = new Set<Promise<void>>();

  constructor(options: MailerOptions, transport: Transport) {
    this.#options = options;
    this.#transport = transport;
  }

  async send(message: MailMessage): Promise<void> {
    try {
      await this.#transport.deliver({ sender: this.#options.defaultSender, ...message });
    } catch (error) {
      throw new BackendUnavailable('mail', 'a message could not be sent', { cause: error });
    }
  }

  post(message: MailMessage): void {
    const { logger, maxWaiting } = this.#options;
    if (this.#pending.size >= maxWaiting) {
      logger.error({ waiting: maxWaiting }, 'A mail was dropped: too many are waiting to be sent');
      return;
    }
    const sending = this.send(message)
      .catch((error: unknown) => logger.error({ err: error }, 'A mail could not be sent'))
      .finally(() => this.#pending.delete(sending));
    this.#pending.add(sending);
  }

  async close(): Promise<void> {
    const patience = new AbortController();
    const tooLong = wait(this.#options.closeTimeoutSeconds * 1000, undefined, { signal: patience.signal });
    await Promise.race([Promise.all(this.#pending), tooLong]);
    patience.abort();
    tooLong.catch(() => undefined);
    this.#transport.close();
  }
}
