// How the service sends mail, whatever carries it away.

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
   * Resolves when somebody else has taken the message over: the next server, or the folder of a queue.
   *
   * @throws BackendUnavailable when nobody does
   */
  send(message: MailMessage): Promise<void>;
  /**
   * Sends in the background, so that neither the time it takes nor its failure can be told from an answer. Failures are
   * logged, and so are messages that are dropped because too many wait already. Never throws.
   */
  post(message: MailMessage): void;
  /** Waits for what is on its way, within the time that one message may take, and drops the rest. */
  close(): Promise<void>;
}
