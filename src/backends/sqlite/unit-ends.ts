// How a unit of work ends inside the transaction that it shares with the other units of its group.

/** Statements that end a unit. */
export interface UnitEnds {
  readonly commit: readonly string[];
  readonly rollback: readonly string[];
}

/**
 * Ends of the first unit of a group, which has no savepoint. In a savepoint, SQLite remembers all pages that the unit changes,
 * and each statement that may fail halfway walks over all of them. So a unit takes quadratic time.
 */
export const endsOfFirst: UnitEnds = { commit: [], rollback: ['ROLLBACK', 'BEGIN IMMEDIATE'] };
export const endsOfLater: UnitEnds = { commit: ['RELEASE unit'], rollback: ['ROLLBACK TO unit', 'RELEASE unit'] };
