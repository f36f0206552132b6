// The newest lines of the log, in memory, for operators. Lines are kept as bytes in chunks: that is exact about the memory,
// and costs a line that nothing reads one concatenation.

/** A line of the log, in the same form for both formats of lines. */
export interface LogLine {
  /** Number of the line in its process, ascending. */
  readonly number: number;
  /** Milliseconds since 1970 UTC. */
  readonly time: number;
  readonly level: LogLevel;
  readonly pid: number;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Levels in ascending order. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** The place of a line among those of all processes. */
export type LogPosition = readonly [time: number, pid: number, number: number];

export interface LogQuery {
  readonly level: LogLevel;
  /** Only lines at or after this time. */
  readonly since: number;
  /** Only lines older than this one. */
  readonly before: LogPosition | undefined;
  readonly limit: number;
}

export interface LogRetention {
  /** Time of the oldest line. */
  readonly oldest: number | undefined;
  readonly bytes: number;
  readonly limitBytes: number;
}

interface Chunk {
  readonly bytes: Buffer;
  /** Number of its first line. */
  readonly first: number;
}

/** Longer lines are replaced by a note. */
export const maxLineChars = 16_384;
/** The ring loses its oldest lines by chunks, of which it has this number at least. */
const minChunks = 16;

export class LogRing {
  readonly #limitBytes: number;
  readonly #chunkChars: number;
  readonly #now: () => number;
  readonly #chunks: Chunk[] = [];
  #bytes = 0;
  #open = '';
  /** Number of the first line in `#open`, and of the next line. */
  #first = 0;
  #next = 0;

  /** @param now returns milliseconds since 1970 UTC */
  constructor(limitBytes: number, now: () => number) {
    this.#limitBytes = limitBytes;
    this.#chunkChars = limitBytes / minChunks;
    this.#now = now;
  }

  /** Adds a line that ends with a line break. */
  add(line: string): void {
    this.#open += line.length > maxLineChars ? this.#note(line) : line;
    this.#next++;
    if (this.#open.length >= this.#chunkChars) this.#close();
  }

  /** Returns the newest lines that match, newest first. */
  read(query: LogQuery): readonly LogLine[] {
    const found: LogLine[] = [];
    for (const { bytes, first } of this.#all().toReversed()) {
      const texts = bytes.toString('utf8').split('\n');
      for (let index = texts.length - 2; index >= 0; index--) {
        const line = parseLine(texts[index]!, first + index);
        if (line === undefined || !matches(line, query)) continue;
        found.push(line);
        if (found.length === query.limit) return found;
      }
    }
    return found;
  }

  get retention(): LogRetention {
    const chunks = this.#all();
    const text = chunks[0]?.bytes.toString('utf8') ?? '';
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.bytes.length, 0);
    return { oldest: parseLine(text.slice(0, text.indexOf('\n')), 0)?.time, bytes, limitBytes: this.#limitBytes };
  }

  #all(): readonly Chunk[] {
    return this.#open === '' ? this.#chunks : [...this.#chunks, { bytes: Buffer.from(this.#open), first: this.#first }];
  }

  #close(): void {
    const bytes = Buffer.from(this.#open);
    this.#chunks.push({ bytes, first: this.#first });
    this.#bytes += bytes.length;
    this.#open = '';
    this.#first = this.#next;
    // The open chunk needs room as well.
    while (this.#bytes > this.#limitBytes - this.#chunkChars) this.#bytes -= this.#chunks.shift()!.bytes.length;
  }

  #note(line: string): string {
    const msg = `A line of ${line.length} characters was not kept`;
    return `${JSON.stringify({ level: warnLevel, time: this.#now(), pid: process.pid, msg })}\n`;
  }
}

const warnLevel = 40;

function matches({ level, time, pid, number }: LogLine, { level: least, since, before }: LogQuery): boolean {
  if (logLevels.indexOf(level) < logLevels.indexOf(least) || time < since) return false;
  return before === undefined || comparePositions([time, pid, number], before) > 0;
}

/** Orders positions from the newest to the oldest. */
export function comparePositions(a: LogPosition, b: LogPosition): number {
  return b[0] - a[0] || b[1] - a[1] || b[2] - a[2];
}

/** Parses a line of either format; returns `undefined` for a text of another one. */
function parseLine(text: string, number: number): LogLine | undefined {
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  if ('Timestamp' in parsed) {
    const { Timestamp, Severity, Pid, Type, Fields } = parsed;
    const level = Number(Severity) <= 3 ? 'error' : Severity === 4 ? 'warn' : Severity === 7 ? 'debug' : 'info';
    const fields = (typeof Fields === 'object' && Fields !== null ? Fields : {}) as LogLine['fields'];
    const nanoseconds = Number(Timestamp);
    return { number, time: Math.round(nanoseconds / 1e6), level, pid: Number(Pid), message: textOf(Type), fields };
  }
  const { level: severity, time, pid = process.pid, msg, name: _name, ...fields } = parsed;
  const value = Number(severity);
  const level = value >= 50 ? 'error' : value >= warnLevel ? 'warn' : value >= 30 ? 'info' : 'debug';
  // The access log has a field of this name, a date.
  const at = typeof time === 'string' ? Date.parse(time) : Number(time);
  return { number, time: at, level, pid: Number(pid), message: textOf(msg), fields };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
