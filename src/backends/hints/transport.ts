// How a backend carries the messages of hints between processes.

export interface MessageEvents {
  /** Called with each message of the channel, including those of this process. */
  readonly received: (message: string) => void;
  /** Called at most once, when no more messages arrive. */
  readonly lost: (error: Error) => void;
}

/** A connection on which messages arrive. */
export interface MessageSource {
  /** Verifies that the connection still works. Fails in a few seconds when the server does not answer. */
  probe(): Promise<void>;
  /** Ends the connection at once. */
  end(): void;
}

export interface HintTransport {
  /** Maximum size of a message in bytes. */
  readonly maxBytes: number;
  /** Sends messages in their order. Resolves when the server has them, and fails when it may not have all of them. */
  send(messages: readonly string[]): Promise<void>;
  /**
   * Begins to receive messages. Called again after it has failed and after the source was lost or ended, never in parallel.
   *
   * @throws Error when no connection can be made
   */
  listen(events: MessageEvents): Promise<MessageSource>;
  /** Closes all connections of the transport, also one that is being made. */
  close(): Promise<void>;
}
