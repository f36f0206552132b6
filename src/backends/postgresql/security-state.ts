// The contract of security state in a table of the storage database. Each call is one statement, outside any unit of work,
// and as durable as other writes.
import type { SecurityState } from '../../contracts/security-state.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import {
  purgeStatement,
  securityStatements,
  SqlSecurityState,
  type SecurityStatement,
  type SqlSecurityStateOptions,
} from '../sql/security-state.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { quick, type Statement } from './connection.ts';
import { initializeComponent } from './migrate.ts';
import { securityComponent } from './schema.ts';

export interface PostgresSecurityStateOptions extends SqlSecurityStateOptions {
  readonly pool: ConnectionPool;
}

const statements = new Map<SecurityStatement, Statement>(
  Object.entries({ ...securityStatements, purge: purgeStatement('FOR UPDATE SKIP LOCKED') }).map(([name, text]) => [
    name as SecurityStatement,
    quick(`security-${name}`, text),
  ]),
);

/** Opens the store on the connections of the pool. */
export function openPostgresSecurityState({ pool, ...options }: PostgresSecurityStateOptions): SecurityState {
  const shared = pool.share();
  let isClosed = false;
  const target = {
    name: 'postgresql',
    needsMigration: true,
    async run(statement: SecurityStatement, values: readonly (string | number | null)[]) {
      if (isClosed) throw new BackendUnavailable('storage', 'the PostgreSQL security state is closed');
      return (await shared.run('storage', statements.get(statement)!, values)).rows;
    },
    initializeSchema: (how: { readonly dryRun: boolean }) =>
      initializeComponent(shared, 'storage', securityComponent, how),
    async close() {
      if (isClosed) return;
      isClosed = true;
      await shared.leave();
    },
  };
  return new SqlSecurityState(target, options);
}
