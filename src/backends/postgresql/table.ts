// A table whose calls are single statements, on the connections of a pool.
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { SqlTable } from '../sql/table.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { prepared, quick } from './connection.ts';
import type { BackendName } from './errors.ts';
import { initializeComponent } from './migrate.ts';
import type { Component } from './schema.ts';

export interface PostgresTableOptions<Name extends string> {
  readonly component: Component;
  /** Name of the backend in errors. */
  readonly backend: BackendName;
  /** Contents of the table, for errors. */
  readonly contents: string;
  readonly statements: Readonly<Record<Name, string>>;
  /** Statements that may change many rows; all others are quick. */
  readonly slow: readonly Name[];
}

/** Opens a table. It shares the pool until it is closed. */
export function openTable<Name extends string>(
  pool: ConnectionPool,
  { component, backend, contents, statements: texts, slow }: PostgresTableOptions<Name>,
): SqlTable<Name> {
  const shared = pool.share();
  const names: readonly string[] = slow;
  const statements = new Map(
    Object.entries<string>(texts).map(([name, text]) => {
      const create = names.includes(name) ? prepared : quick;
      return [name, create(`${component.name}-${name}`, text)];
    }),
  );
  let isClosed = false;
  return {
    name: 'postgresql',
    needsMigration: true,
    async run(statement, values) {
      if (isClosed) throw new BackendUnavailable(backend, `the PostgreSQL ${contents} is closed`);
      return (await shared.run(backend, statements.get(statement)!, values)).rows;
    },
    initializeSchema: (how) => initializeComponent(shared, backend, component, how),
    async close() {
      if (isClosed) return;
      isClosed = true;
      await shared.leave();
    },
  };
}
