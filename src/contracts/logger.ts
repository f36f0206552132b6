// The logger of all rooms. A pino logger fits the interface as it is.

/** Logs fields and a sentence. Never pass secrets, bodies or credentials. */
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

/** Logs nothing. For work that throws its failures and runs nothing after its commit. */
export const silentLogger: Logger = { debug: drop, info: drop, warn: drop, error: drop };

function drop(): void {
  // Logs nothing.
}
