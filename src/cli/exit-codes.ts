// Exit codes; see docs/guides/operating.md.

export const exitCodes = {
  done: 0,
  /** Wrong settings, a missing file, a port in use, a failing backend. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** `check`: the service would start after `coffer migrate`. */
  checkMigrations: 3,
  /** `check --strict`: the service would start, but with warnings. */
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

/** Ends a command with an exit code and an optional message. */
export class Exit extends Error {
  readonly code: number;

  constructor(code: number, message = '') {
    super(message);
    this.name = 'Exit';
    this.code = code;
  }
}
