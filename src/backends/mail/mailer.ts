// The mailer: a transport, and a bounded queue of messages sent in the background.
import { setTimeout as wait } from 'node:timers/promises';
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { Logger } from '../../contracts/logger.ts';
import type { Mailer, MailMessage } from '../../contracts/mailer.ts';
import { fileTransport, maildirTransport } from './folder-transports.ts';
import { smtpTransport, type SmtpOptions, type Transport } from './smtp.ts';

/** Transport of messages and its options. */
export type MailTransportOptions =
  | { readonly kind: 'smtp'; readonly smtp: SmtpOptions }
  | { readonly kind: 'maildir' | 'files'; readonly folder: string }
  | { readonly kind: 'nowhere' };

export interface MailerOptions {
  readonly transport: MailTransportOptions;
  readonly defaultSender: string;
  /** Maximum number of queued messages. */
  readonly maxWaiting: number;
  /** Maximum time that a stop waits for them. */
  readonly closeTimeoutSeconds: number;
  readonly logger: Logger;
}

/** Creates a mailer. It connects with the first message. */
export function createMailer(options: MailerOptions): Mailer {
  return new QueuedMailer(options, openTransport(options.transport));
}

function openTransport(transport: MailTransportOptions): Transport {
  switch (transport.kind) {
    case 'smtp':
      return smtpTransport(transport.smtp);
    case 'maildir':
      return maildirTransport(transport.folder);
    case 'files':
      return fileTransport(transport.folder);
    case 'nowhere':
      return { deliver: () => Promise.resolve(), close: () => undefined };
  }
}

class QueuedMailer implements Mailer {
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
      logger.error({ waiting: maxWaiting }, 'A mail was dropped: the queue is full');
      return;
    }
    const sending = this.send(message)
      .catch((error: unknown) => logger.error({ err: error }, 'A mail could not be sent'))
      .finally(() => this.#pending.delete(sending));
    this.#pending.add(sending);
  }

  async close(): Promise<void> {
    const timer = new AbortController();
    const timeout = wait(this.#options.closeTimeoutSeconds * 1000, undefined, { signal: timer.signal });
    await Promise.race([Promise.all(this.#pending), timeout]);
    timer.abort();
    timeout.catch(() => undefined);
    this.#transport.close();
  }
}
