// PostgreSQL's own benchmark: one-row inserts by as many connections as the service has clients.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { findPgbench } from './postgresql.mjs';

/**
 * Creates a table, and returns a function that inserts into it for a while and returns the rate.
 *
 * @param {import('./workbench.mjs').Workbench} bench
 * @returns {Promise<(() => Promise<number>) | undefined>} `undefined` where there is no pgbench
 */
export async function inserts(bench) {
  const { isShort, seconds, connections } = bench.size;
  const program = await findPgbench({ mayInstall: !isShort });
  if (program === undefined) return undefined;
  const server = await bench.places.postgresql();
  const database = await server.createDatabase();
  await server.query(
    database,
    `CREATE TABLE rows (list int NOT NULL, id text COLLATE "C" NOT NULL, last_modified bigint NOT NULL, data text NOT NULL,
      PRIMARY KEY (list, id))`,
  );
  const script = path.join(bench.folder('pgbench'), 'insert.sql');
  const values = `:list, gen_random_uuid()::text, 1700000000000, repeat('x', 170)`;
  writeFileSync(script, `\\set list random(1, 100)\nINSERT INTO rows VALUES (${values});\n`);
  return async () => {
    const args = ['-n', '-M', 'prepared', '-f', script, '-c', String(connections), '-j', '2', '-T', String(seconds)];
    const child = spawn(program, [...args, ...server.connectionArgs(database)], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [output, complaints] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    const rate = /tps = ([\d.]+)/.exec(output)?.[1];
    if (rate === undefined || /number of failed transactions: [1-9]/.test(output)) {
      throw new Error(`pgbench: ${complaints}${output}`);
    }
    return Number(rate);
  };
}
