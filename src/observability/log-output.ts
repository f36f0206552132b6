// Standard output for the lines of the log. Nobody waits for them, and what cannot be written is lost: a full disk or a
// reader that does not keep up must not keep the service from its work, nor the process from ending.
import fs from 'node:fs';

/** How long a line may wait for others after one was written, and how many characters make it wait no longer. */
const maxDelayMs = 20;
const groupChars = 16_384;
/** Characters that wait for a slow reader at most; lines beyond are lost. */
const maxWaitingChars = 16_000_000;
const retryMs = 50;
const newline = 0x0a;
const closeTimeoutMs = 500;

/** What could not be written, once lines can be again. */
export interface LostLines {
  readonly lines: number;
  /** What the system said, such as `ENOSPC`. */
  readonly reason: string;
}

export class LogOutput {
  readonly #fd: number;
  readonly #onRecovery: (lost: LostLines) => void;
  #waiting = '';
  #isDelaying = false;
  #isWriting = false;
  /** Whether nobody will ever read what is written. */
  #isOver = false;
  /** Whether what was written last ends within a line. */
  #isTorn = false;
  #lost: LostLines | undefined;
  #onIdle: (() => void) | undefined;

  /** @param onRecovery told when lines can be written again */
  constructor(fd: number, onRecovery: (lost: LostLines) => void) {
    this.#fd = fd;
    this.#onRecovery = onRecovery;
    process.once('exit', this.#writeLast);
  }

  /**
   * Writes a line at once, and those that follow soon together: under load a write for each would cost more than the request
   * that the line tells of.
   */
  readonly write = (line: string): void => {
    if (this.#isOver) return;
    if (this.#waiting.length > maxWaitingChars) {
      this.#lose(1, 'the reader is too slow');
      return;
    }
    this.#waiting += line;
    if (this.#isDelaying && this.#waiting.length < groupChars) return;
    this.#send();
    if (this.#isDelaying) return;
    this.#isDelaying = true;
    setTimeout(() => {
      this.#isDelaying = false;
      this.#send();
    }, maxDelayMs).unref();
  };

  /** Resolves when all is written, and soon even when it cannot be. */
  async close(): Promise<void> {
    process.off('exit', this.#writeLast);
    this.#isDelaying = false;
    this.#send();
    if (!this.#isWriting) return;
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    const late = new Promise<void>((resolve) => {
      setTimeout(resolve, closeTimeoutMs);
    });
    await Promise.race([idle, late]);
  }

  #send(): void {
    if (this.#isWriting || this.#waiting === '') return;
    this.#isWriting = true;
    const bytes = Buffer.from(this.#isTorn ? `\n${this.#waiting}` : this.#waiting);
    this.#waiting = '';
    this.#write(bytes);
  }

  #write(bytes: Buffer): void {
    fs.write(this.#fd, bytes, (error, written) => {
      if (error !== null) {
        this.#fail(bytes, error);
        return;
      }
      if (written > 0) this.#isTorn = bytes[written - 1] !== newline;
      if (written < bytes.length) this.#write(bytes.subarray(written));
      else this.#finish();
    });
  }

  #fail(bytes: Buffer, { code = 'unknown' }: NodeJS.ErrnoException): void {
    if (code === 'EAGAIN' || code === 'EBUSY') {
      setTimeout(() => {
        this.#write(bytes);
      }, retryMs).unref();
      return;
    }
    if (code === 'EPIPE') {
      this.#isOver = true;
      this.#waiting = '';
    } else this.#lose(countLines(bytes), code);
    this.#goOn();
  }

  #finish(): void {
    const lost = this.#lost;
    this.#lost = undefined;
    if (lost !== undefined) this.#onRecovery(lost);
    this.#goOn();
  }

  #goOn(): void {
    this.#isWriting = false;
    if (this.#waiting === '') this.#onIdle?.();
    else if (!this.#isDelaying || this.#waiting.length >= groupChars) this.#send();
  }

  #lose(lines: number, reason: string): void {
    if (this.#lost === undefined)
      say(`coffer: the log cannot be written (${reason}); lines of it are lost until it can\n`);
    this.#lost = { lines: (this.#lost?.lines ?? 0) + lines, reason };
  }

  /** A process that ends without closing writes what it can. */
  readonly #writeLast = (): void => {
    if (this.#isWriting || this.#waiting === '') return;
    try {
      fs.writeSync(this.#fd, this.#waiting);
    } catch {
      // There is nobody left to tell.
    }
  };
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (const byte of bytes) if (byte === newline) lines++;
  return lines;
}

function say(text: string): void {
  try {
    fs.writeSync(2, text);
  } catch {
    // Standard error may end where standard output does.
  }
}
