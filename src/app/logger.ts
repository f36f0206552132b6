// The log: one structured line per event. JSON lines follow the MozLog layout, so that existing log
// pipelines read them; on a terminal the lines are made for people.
import { hostname } from 'node:os';
import { pino, type DestinationStream, type Logger, type LoggerOptions } from 'pino';
import { prettyFactory } from 'pino-pretty';

export interface LoggerSettings {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** `auto`: readable when standard output is a terminal, else JSON. */
  readonly format: 'auto' | 'json' | 'pretty';
  /** Name of the service in each line. */
  readonly name: string;
  /** Whether lines for people name the process, because there are several; JSON lines always do. */
  readonly showsPid?: boolean;
}

/** A second net: nothing logs these on purpose. */
const redacted = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'headers.authorization',
  'headers.cookie',
  'req.headers.authorization',
  'req.headers.cookie',
  'request.headers.authorization',
  'request.headers.cookie',
];

/** A logger that writes to standard output, or to the given stream. */
export function createLogger(settings: LoggerSettings, destination?: DestinationStream): Logger {
  const isPretty = settings.format === 'pretty' || (settings.format === 'auto' && process.stdout.isTTY);
  const options = isPretty ? prettyOptions(settings) : mozLogOptions(settings);
  if (destination !== undefined) return pino(options, isPretty ? prettyStream(destination) : destination);
  const output = openOutput(isPretty);
  const groups = isPretty ? undefined : new LineGroups(output);
  const logger = pino(options, groups ?? prettyStream(output));
  outputs.set(logger, { output, groups });
  return logger;
}

type Output = ReturnType<typeof pino.destination>;

/** How long a line may wait for others after one was written, and how many characters may wait. */
const maxDelayMs = 20;
const maxWaitingChars = 16_384;

/** Standard output; lines for people are written at once, others when there is time. */
function openOutput(isSync: boolean): Output {
  return pino.destination({ dest: 1, sync: isSync });
}

/**
 * Writes a line at once, and those that follow soon together: under load a write for each would cost more than the request
 * that the line tells of.
 */
class LineGroups {
  readonly #output: Output;
  #waiting = '';
  #isDelaying = false;

  constructor(output: Output) {
    this.#output = output;
    process.once('exit', this.flush);
  }

  readonly write = (line: string): void => {
    this.#waiting += line;
    if (this.#isDelaying && this.#waiting.length < maxWaitingChars) return;
    this.flush();
    if (this.#isDelaying) return;
    this.#isDelaying = true;
    setTimeout(() => {
      this.#isDelaying = false;
      this.flush();
    }, maxDelayMs).unref();
  };

  readonly flush = (): void => {
    const lines = this.#waiting;
    this.#waiting = '';
    if (lines !== '') this.#output.write(lines);
  };

  /** Writes what waits, and takes no more notice of the process. */
  end(): void {
    this.flush();
    process.off('exit', this.flush);
  }
}

const outputs = new WeakMap<Logger, { readonly output: Output; readonly groups: LineGroups | undefined }>();
const closeTimeoutMs = 500;

/**
 * Writes what is buffered and lets go of the output. Resolves soon even when nobody reads it any more; exiting without
 * this would then wait for the reader for ever.
 */
export async function closeLogger(logger: Logger): Promise<void> {
  const opened = outputs.get(logger);
  if (opened === undefined) return;
  outputs.delete(logger);
  const { output, groups } = opened;
  groups?.end();
  const closed = new Promise<void>((resolve) => {
    output.once('close', () => {
      resolve();
    });
  });
  const late = new Promise<void>((resolve) => {
    setTimeout(() => {
      output.destroy();
      resolve();
    }, closeTimeoutMs);
  });
  output.end();
  await Promise.race([closed, late]);
}

function prettyOptions({ level, name, showsPid = false }: LoggerSettings): LoggerOptions {
  return { level, name, base: showsPid ? { pid: process.pid } : null, redact: redacted };
}

function prettyStream(output: DestinationStream): DestinationStream {
  const format = prettyFactory({ colorize: process.stdout.isTTY, translateTime: 'SYS:HH:MM:ss', ignore: 'name' });
  return { write: (line) => output.write(format(line)) };
}

// Syslog severities, which MozLog counts with.
const severities: Readonly<Record<string, number>> = { fatal: 2, error: 3, warn: 4, info: 6, debug: 7, trace: 7 };

function mozLogOptions({ level, name }: LoggerSettings): LoggerOptions {
  return {
    level,
    base: { Logger: name, Hostname: hostname(), EnvVersion: '2.0', Pid: process.pid },
    messageKey: 'Type',
    nestedKey: 'Fields',
    errorKey: 'err',
    timestamp: () => `,"Timestamp":${Date.now()}000000`,
    formatters: { level: (label) => ({ Severity: severities[label] ?? 7 }) },
    redact: redacted,
  };
}
