// The contract of security state in a table of the storage database. Each call is one statement, outside any unit of work,
// and as durable as other writes.
import type { SecurityState } from '../../contracts/security-state.ts';
import { securityStatements, SqlSecurityState, type SqlSecurityStateOptions } from '../sql/security-state.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { securityComponent } from './schema.ts';
import { openTable } from './table.ts';

export interface PostgresSecurityStateOptions extends SqlSecurityStateOptions {
  readonly pool: ConnectionPool;
}

/** Opens the store on the connections of the pool. */
export function openPostgresSecurityState({ pool, ...options }: PostgresSecurityStateOptions): SecurityState {
  const table = openTable(pool, {
    component: securityComponent,
    backend: 'storage',
    contents: 'security state',
    statements: securityStatements('FOR UPDATE SKIP LOCKED'),
    slow: [],
  });
  return new SqlSecurityState(table, options);
}
