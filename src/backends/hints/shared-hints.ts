// Hints over a transport: gathers what is to be sent, keeps receiving across failures of the connection, and never disturbs
// the process when the server is out of reach.
import { randomBytes } from 'node:crypto';
import type { ChangeHint, ChangeHints } from '../../contracts/change-hints.ts';
import type { Logger } from '../../contracts/logger.ts';
import { formatMessages, parseMessage } from './hint-messages.ts';
import { Outage } from './outage.ts';
import { PendingHints } from './pending-hints.ts';
import type { HintTransport, MessageSource } from './transport.ts';

/** Minimum time between two messages. */
const sendPauseMs = 10;
const firstRetryMs = 50;
const maxRetryMs = 5000;
/** How often an idle source is probed, so that a silent network is noticed. */
const probePauseMs = 15_000;
/** How long `close` waits for the last hints. */
const closeMs = 1000;

type Listener = (hints: readonly ChangeHint[]) => void;

export class SharedHints implements ChangeHints {
  readonly #transport: HintTransport;
  readonly #logger: Logger;
  readonly #outage: Outage;
  /** Tells the messages of this process from those of others. */
  readonly #id = randomBytes(12).toString('base64url');
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  readonly #pending = new PendingHints();
  #sending: Promise<void> | undefined;
  #sendTimer: NodeJS.Timeout | undefined;
  /** When the last message was sent, by the monotonic clock. */
  #sentAt = -Infinity;
  #sendFailures = 0;
  #isListening = false;
  #source: MessageSource | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #probeTimer: NodeJS.Timeout | undefined;
  #listenFailures = 0;
  #closing: Promise<void> | undefined;

  constructor(transport: HintTransport, logger: Logger) {
    this.#transport = transport;
    this.#logger = logger;
    this.#outage = new Outage(logger);
  }

  publish(hints: readonly ChangeHint[]): void {
    if (this.#closing !== undefined) return;
    for (const hint of hints) this.#pending.add(hint);
    this.#sendLater();
  }

  subscribe(listener: Listener): () => void {
    const entry = { listener };
    this.#listeners.add(entry);
    if (!this.#isListening && this.#closing === undefined) {
      this.#isListening = true;
      void this.#listen();
    }
    return () => void this.#listeners.delete(entry);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Sends the pending hints, at once unless a message has just been sent or could not be sent. */
  #sendLater(): void {
    if (this.#sending !== undefined || this.#sendTimer !== undefined || this.#pending.isEmpty) return;
    const pauseMs = this.#sendFailures > 0 ? retryDelayMs(this.#sendFailures) : sendPauseMs;
    const delayMs = Math.max(0, this.#sentAt + pauseMs - performance.now());
    this.#sendTimer = setTimeout(() => {
      this.#sendTimer = undefined;
      void this.#send();
    }, delayMs);
    this.#sendTimer.unref();
  }

  #send(): Promise<void> {
    const sending = this.#sendPending();
    this.#sending = sending;
    return sending;
  }

  async #sendPending(): Promise<void> {
    const messages = formatMessages(this.#id, this.#pending.take(), this.#transport.maxBytes);
    this.#sentAt = performance.now();
    try {
      await this.#transport.send(messages);
      this.#sendFailures = 0;
      this.#outage.works('send');
    } catch (error) {
      this.#sentAt = performance.now();
      this.#sendFailures++;
      this.#pending.add({ any: true });
      if (this.#closing === undefined) this.#outage.failed('send', error);
    }
    this.#sending = undefined;
    if (this.#closing === undefined) this.#sendLater();
  }

  async #listen(): Promise<void> {
    const state = { isLost: false };
    const lost = (error: unknown): void => {
      if (state.isLost) return;
      state.isLost = true;
      this.#listenAgain(error);
    };
    let source: MessageSource;
    try {
      source = await this.#transport.listen({ received: (message) => this.#receive(message), lost });
    } catch (error) {
      lost(error);
      return;
    }
    if (this.#closing !== undefined || state.isLost) {
      source.end();
      return;
    }
    this.#source = source;
    this.#outage.works('receive');
    this.#probeTimer = setInterval(() => {
      // Not earlier: a server that ends each new connection must not be asked for one all the time.
      this.#listenFailures = 0;
      source.probe().catch(lost);
    }, probePauseMs);
    this.#probeTimer.unref();
    // What was sent before is unknown.
    this.#deliver([{ any: true }]);
  }

  #listenAgain(error: unknown): void {
    clearInterval(this.#probeTimer);
    this.#source?.end();
    this.#source = undefined;
    if (this.#closing !== undefined) return;
    this.#outage.failed('receive', error);
    this.#listenFailures++;
    this.#retryTimer = setTimeout(() => void this.#listen(), retryDelayMs(this.#listenFailures));
    this.#retryTimer.unref();
  }

  #receive(message: string): void {
    const parsed = parseMessage(message, this.#transport.maxBytes);
    if (parsed !== undefined && parsed.from !== this.#id) this.#deliver(parsed.hints);
  }

  #deliver(hints: readonly ChangeHint[]): void {
    if (this.#closing !== undefined || hints.length === 0) return;
    for (const { listener } of this.#listeners) {
      try {
        listener(hints);
      } catch (error) {
        this.#logger.error({ err: error }, 'A listener to hints about changes failed');
      }
    }
  }

  async #close(): Promise<void> {
    clearTimeout(this.#sendTimer);
    clearTimeout(this.#retryTimer);
    clearInterval(this.#probeTimer);
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, closeMs);
    });
    await Promise.race([this.#sendRest(), tooLate]);
    clearTimeout(timer);
    await this.#transport.close();
  }

  /** Sends what is left, unless the last attempt has failed. */
  async #sendRest(): Promise<void> {
    await this.#sending;
    if (this.#sendFailures === 0 && !this.#pending.isEmpty) await this.#send();
  }
}

/** Doubles with each failure. The random part keeps processes from coming all at once when their server is back. */
function retryDelayMs(failures: number): number {
  return Math.min(firstRetryMs * 2 ** Math.min(failures - 1, 20), maxRetryMs) * (0.5 + Math.random() / 2);
}
