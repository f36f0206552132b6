// Mail of the service, independent of the transport.

export interface MailMessage {
  /** Addresses, with or without a name: `Zoe <zoe@example.org>`. */
  readonly to: readonly string[];
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
  /** Default: the setting `mail.default_sender`. */
  readonly sender?: string;
}

export interface Mailer {
  /**
   * Sends a message. Resolves when the next server has accepted it, or when it is in the folder of a queue.
   *
   * @throws BackendUnavailable when the message was not accepted
   */
  send(message: MailMessage): Promise<void>;
  /**
   * Sends a message in the background, so a response reveals neither the time it takes nor its failure. Failures are
   * logged, and so are messages that are dropped because too many wait already. Never throws.
   */
  post(message: MailMessage): void;
  /** Waits for the messages under way, up to the time that one message may take, and drops the rest. */
  close(): Promise<void>;
}
