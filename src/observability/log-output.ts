// Writes the lines of the log to standard output without blocking. Lines that cannot be written are lost: neither a full disk
// nor a slow reader may stop the service, or keep the process from ending.
import fs from 'node:fs';

/** Lines are grouped for this time after a write, or until they have this many characters. */
const maxDelayMs = 20;
const groupChars = 16_384;
/** Maximum number of characters that wait for a slow reader. Further lines are lost. */
const maxWaitingChars = 16_000_000;
const retryMs = 50;
const newline = 0x0a;
const closeTimeoutMs = 500;

/** Lines that could not be written, reported when writing works again. */
export interface LostLines {
  readonly lines: number;
  /** Error code of the system, such as `ENOSPC`. */
  readonly reason: string;
}

export class LogOutput {
  readonly #fd: number;
  readonly #onRecovery: (lost: LostLines) => void;
  #waiting = '';
  #isDelaying = false;
  #isWriting = false;
  /** Whether the reader has closed the stream. */
  #isOver = false;
  /** Whether the last write ended within a line. */
  #isTorn = false;
  #lost: LostLines | undefined;
  #onIdle: (() => void) | undefined;

  /** @param onRecovery called when lines can be written again */
  constructor(fd: number, onRecovery: (lost: LostLines) => void) {
    this.#fd = fd;
    this.#onRecovery = onRecovery;
    process.once('exit', this.#writeLast);
  }

  /**
   * Writes a line at once, and groups the lines that follow soon: under load a separate write would cost more than the request
   * that the line describes.
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

  /** Writes the waiting lines. Resolves soon even when they cannot be written. */
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
    this.#continue();
  }

  #finish(): void {
    const lost = this.#lost;
    this.#lost = undefined;
    if (lost !== undefined) this.#onRecovery(lost);
    this.#continue();
  }

  #continue(): void {
    this.#isWriting = false;
    if (this.#waiting === '') this.#onIdle?.();
    else if (!this.#isDelaying || this.#waiting.length >= groupChars) this.#send();
  }

  #lose(lines: number, reason: string): void {
    if (this.#lost === undefined)
      writeError(`coffer: the log cannot be written (${reason}); its lines are lost until it can be written again\n`);
    this.#lost = { lines: (this.#lost?.lines ?? 0) + lines, reason };
  }

  /** Writes the waiting lines when the process ends without `close`. */
  readonly #writeLast = (): void => {
    if (this.#isWriting || this.#waiting === '') return;
    try {
      fs.writeSync(this.#fd, this.#waiting);
    } catch {
      // The process ends, and standard error fails in the same way.
    }
  };
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (const byte of bytes) if (byte === newline) lines++;
  return lines;
}

function writeError(text: string): void {
  try {
    fs.writeSync(2, text);
  } catch {
    // Standard error may lead to the same place as standard output.
  }
}
