// Tables whose calls are single statements outside any unit of work. SQLite and PostgreSQL implement them.

export type TableValue = string | number | null;

/** A table, and statements for it by name. Parameters are numbered: `$1`, `$2`. */
export interface SqlTable<Statement extends string> {
  readonly name: string;
  readonly needsMigration?: boolean;
  /** Returns the rows of the statement. */
  run(statement: Statement, values: readonly TableValue[]): Promise<readonly (readonly TableValue[])[]>;
  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]>;
  /** See `Database.checkIntegrity`. */
  checkIntegrity?(): Promise<readonly string[]>;
  close(): Promise<void>;
}
