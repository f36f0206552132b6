// What the exit codes mean; see docs/guides/operating.md.

export const exitCodes = {
  done: 0,
  /** Wrong settings, a missing file, a port in use, a backend that fails. */
  failed: 1,
  /** The command line itself is wrong. */
  usage: 2,
  /** `check`: all is well once `coffer migrate` has run. */
  checkMigrations: 3,
  /** `check --strict`: it would start, but there is something to think about. */
  checkWarnings: 4,
  deleteCollectionReadonly: 31,
  deleteCollectionBucketMissing: 32,
  deleteCollectionCollectionMissing: 33,
  rebuildQuotasReadonly: 41,
  rebuildQuotasNotIncluded: 42,
  createUserReadonly: 51,
  createUserNoPlugin: 52,
  createUserNoInput: 53,
} as const;

/** Ends a command with a code and, unless all is said, a message. */
export class Exit extends Error {
  readonly code: number;

  constructor(code: number, message = '') {
    super(message);
    this.name = 'Exit';
    this.code = code;
  }
}
