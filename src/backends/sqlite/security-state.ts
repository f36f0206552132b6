// The contract of security state in a SQLite file of its own, so that a request can count and take codes while its unit of
// work is the writer of the database.
import type { SecurityState } from '../../contracts/security-state.ts';
import { securityStatements, SqlSecurityState, type SqlSecurityStateOptions } from '../sql/security-state.ts';
import { CompanionFile } from './companion-file.ts';
import { companionPath } from './database-path.ts';
import { securityStateMigrations } from './schema.ts';

export interface SqliteSecurityStateOptions extends SqlSecurityStateOptions {
  /** The file of a database. The state is next to it, in `coffer-security.sqlite3` for `coffer.sqlite3`. */
  readonly path: string;
  /** Maximum size in bytes of a file that is checked completely when it is opened; default 0. */
  readonly maxCheckedBytes?: number;
}

/**
 * Opens the file. The state survives restarts and crashes of the process; a power loss may take the last seconds.
 *
 * @throws BackendUnavailable when the file cannot be opened; Error when a newer version has migrated it
 */
export function openSqliteSecurityState({
  path,
  maxCheckedBytes,
  ...options
}: SqliteSecurityStateOptions): SecurityState {
  const file = new CompanionFile({
    path: companionPath(path, 'security'),
    migrations: securityStateMigrations,
    backend: 'storage',
    maxCheckedBytes,
    statements: securityStatements(),
    loss: 'limits on failed logins start anew, and keys that were sent have to be sent again',
  });
  return new SqlSecurityState(file, options);
}
