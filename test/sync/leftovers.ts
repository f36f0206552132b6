// Looks into a database for what has no parent any more: objects, access entries, memberships and counts.
import { DatabaseSync } from '@photostructure/sqlite';
import { runSql } from '../support/postgresql-setup.ts';

/** Runs SQL that both databases understand, with table names without prefix in braces: `{objects}`. */
export type Ask = (sql: string) => Promise<readonly (readonly unknown[])[]>;

/** Asks a PostgreSQL database. */
export function askPostgresql(url: string): Ask {
  return (sql) => runSql(url, sql.replaceAll(/\{(\w+)\}/g, 'coffer_$1'));
}

/** Asks a SQLite file; tables and columns that are called otherwise there are given their names of PostgreSQL. */
export function askSqlite(file: string): Ask {
  const names: Readonly<Record<string, string>> = {
    folders: '(SELECT folder, uri AS parent FROM folders)',
    memberships: '(SELECT user_id AS user_key, principal FROM user_principals)',
  };
  return (sql) => {
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      const text = sql.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? name);
      const rows = database.prepare(text).all() as readonly Readonly<Record<string, unknown>>[];
      return Promise.resolve(rows.map((row) => Object.values(row)));
    } finally {
      database.close();
    }
  };
}

/** Everything that should not be there, as sentences. Background deletion has to be finished. */
export async function findLeftovers(ask: Ask): Promise<readonly string[]> {
  const found: string[] = [];
  const objects = new Map<string, { readonly data: string }>();
  const counts = new Map<unknown, number>();
  const rows = await ask(
    'SELECT l.parent, l.kind, o.id, o.data, l.list FROM {objects} o JOIN {lists} l ON l.list = o.list',
  );
  for (const [parent, kind, id, data, list] of rows) {
    objects.set(`${String(parent)}/${String(kind)}s/${String(id)}`, { data: String(data) });
    counts.set(list, (counts.get(list) ?? 0) + 1);
  }
  for (const uri of objects.keys()) {
    const parent = uri.split('/').slice(0, -2).join('/');
    if (parent !== '' && !objects.has(parent)) found.push(`the object ${uri} has no parent`);
  }
  for (const [list, parent, kind, live] of await ask('SELECT list, parent, kind, live FROM {lists}')) {
    const name = `${String(parent)}/${String(kind)}s`;
    if (Number(live) !== (counts.get(list) ?? 0))
      found.push(`${name} counts ${String(live)}, has ${counts.get(list) ?? 0}`);
    if (Number(live) > 0 && parent !== '' && !objects.has(String(parent))) found.push(`${name} counts without parent`);
  }
  for (const kind of ['objects', 'tombstones']) {
    const strays = await ask(`SELECT list, id FROM {${kind}} WHERE list NOT IN (SELECT list FROM {lists})`);
    for (const [list, id] of strays) found.push(`${String(id)} of ${kind} is in list ${String(list)}, which is gone`);
  }
  const entries = await ask(
    'SELECT f.parent, e.name FROM {entries} e LEFT JOIN {folders} f ON f.folder = e.folder GROUP BY f.parent, e.name',
  );
  for (const [folder, name] of entries) {
    if (typeof folder !== 'string') found.push(`an entry for ${String(name)} is in a folder that is gone`);
    else if (!objects.has(`${folder.replace(/\/$/, '')}/${String(name)}`))
      found.push(`an entry is left of ${folder} ${String(name)}`);
  }
  for (const [user, group] of await ask('SELECT user_key, principal FROM {memberships}')) {
    const data = objects.get(String(group))?.data;
    const members = data === undefined ? [] : (JSON.parse(data) as { members: readonly string[] }).members;
    if (!members.includes(String(user))) found.push(`${String(user)} is still in ${String(group)}`);
  }
  return found;
}

/** Resolves when the background deletion has nothing left to do. */
export async function untilReaped(ask: Ask): Promise<void> {
  for (const deadline = performance.now() + 30_000; ;) {
    const [row] = await ask('SELECT (SELECT count(*) FROM {doomed_lists}) + (SELECT count(*) FROM {doomed_folders})');
    if (Number(row?.[0]) === 0) return;
    if (performance.now() > deadline) throw new Error('the background deletion does not come to an end');
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
}
