// The log: one structured line per event. JSON lines have the MozLog layout, which existing log pipelines read. Lines on a
// terminal are for people.
import { hostname } from 'node:os';
import { pino, type DestinationStream, type Logger, type LoggerOptions } from 'pino';
import { LogOutput } from './log-output.ts';
import type { LogRing } from './log-ring.ts';
import { terminalFormat } from './terminal-log.ts';

export interface LoggerSettings {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** `auto`: readable when standard output is a terminal, else JSON. */
  readonly format: 'auto' | 'json' | 'pretty';
  /** Name of the service in each line. */
  readonly name: string;
  /** Whether lines for people name the process, because several run; JSON lines always do. */
  readonly showsPid?: boolean;
}

/** Fields that are always redacted, although no code logs them on purpose. */
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

/** Creates a logger that writes to standard output, or to the given stream. */
export function createLogger(settings: LoggerSettings, destination?: DestinationStream): Logger {
  const isPretty = settings.format === 'pretty' || (settings.format === 'auto' && process.stdout.isTTY);
  const output =
    destination ??
    (isPretty
      ? openTerminal()
      : new LogOutput(standardOutput, (lost) => {
          logger.warn(lost, 'Lines of the log were lost');
        }));
  const tee = new Tee(isPretty ? prettyStream(output, settings) : output);
  const logger = pino(isPretty ? prettyOptions(settings) : mozLogOptions(settings), tee);
  tees.set(logger, tee);
  if (output instanceof LogOutput) outputs.set(logger, output);
  return logger;
}

/** Passes the lines of a logger to its output, and to a ring if one keeps them. */
class Tee implements DestinationStream {
  readonly #output: DestinationStream;
  /** Lines before a ring is attached: the warnings of the start. */
  readonly #early: string[] = [];
  #ring: LogRing | undefined;

  constructor(output: DestinationStream) {
    this.#output = output;
  }

  readonly write = (line: string): void => {
    if (this.#ring !== undefined) this.#ring.add(line);
    else if (this.#early.length < maxEarlyLines) this.#early.push(line);
    this.#output.write(line);
  };

  attach(ring: LogRing): void {
    this.#ring = ring;
    for (const line of this.#early.splice(0)) ring.add(line);
  }
}

const maxEarlyLines = 100;

/**
 * Keeps the lines of the logger in the ring from now on, and the first ones before.
 *
 * @returns whether the logger is one of `createLogger`
 */
export function keepLines(logger: object, ring: LogRing): boolean {
  const tee = tees.get(logger);
  tee?.attach(ring);
  return tee !== undefined;
}

const standardOutput = 1;
const outputs = new WeakMap<object, LogOutput>();
const tees = new WeakMap<object, Tee>();

/** Opens a stream for lines on a terminal. Lines that cannot be written are lost. */
function openTerminal(): DestinationStream {
  const output = pino.destination({ dest: standardOutput, sync: true, maxLength: 1_000_000 });
  output.on('error', () => {
    // The terminal is closed.
  });
  return output;
}

/** Writes the waiting lines. Resolves soon even when they cannot be written. */
export async function closeLogger(logger: Logger): Promise<void> {
  await outputs.get(logger)?.close();
  outputs.delete(logger);
}

function prettyOptions({ level, name, showsPid = false }: LoggerSettings): LoggerOptions {
  return { level, name, base: showsPid ? { pid: process.pid } : null, redact: redacted };
}

function prettyStream(output: DestinationStream, { level }: LoggerSettings): DestinationStream {
  const format = terminalFormat({ colorize: process.stdout.isTTY, showsDetails: level === 'debug' });
  return {
    write(line) {
      const text = format(line);
      if (text !== '') output.write(text);
    },
  };
}

// MozLog uses the severities of syslog.
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
