// The interface for sending mail, over SMTP or into a folder.

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
   * Sends a message. Resolves when the next server, or the folder of a queue, has accepted it.
   *
   * @throws BackendUnavailable when it is not accepted
   */
  send(message: MailMessage): Promise<void>;
  /**
   * Sends in the background, so that responses reveal neither duration nor failure. Logs failures, and messages dropped because
   * too many are waiting. Never throws.
   */
  post(message: MailMessage): void;
  /** Waits for messages in transit, at most as long as one message may take, and drops the rest. */
  close(): Promise<void>;
}
