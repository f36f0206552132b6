// The interface for logs. A pino logger satisfies it.

/** A log method: fields first, then the message. Never pass secrets, bodies or credentials. */
export interface LogMethod {
  (fields: object, message?: string): void;
  (message: string): void;
}

export interface Logger {
  readonly debug: LogMethod;
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
}

/** Drops everything. For work whose failures are thrown, and that runs nothing after its commit. */
export const silentLogger: Logger = { debug: drop, info: drop, warn: drop, error: drop };

function drop(): void {
  // Nothing is logged.
}
