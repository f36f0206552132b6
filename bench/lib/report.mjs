// Writes the results of a reference run to a file of the project.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { describeMachine } from './machine.mjs';
import { formatRow, heading, isMet } from './rows.mjs';

const file = fileURLToPath(new URL('../RESULTS.md', import.meta.url));

/**
 * @param {import('./workbench.mjs').Workbench} bench
 * @param {readonly import('./rows.mjs').Row[]} rows
 * @param {number} began moment of its start, as of `performance.now()`
 */
export async function save(bench, rows, began) {
  const { rounds, seconds, connections } = bench.size;
  const verdicts = rows.map(({ value, target }) => isMet(value, target));
  const met = verdicts.filter((verdict) => verdict === true).length;
  const judged = verdicts.filter((verdict) => verdict !== undefined).length;
  const lines = withEarlier(rows.map(formatRow));
  const minutes = ((performance.now() - began) / 60_000).toFixed(0);
  const command = ['npm run bench --', ...process.argv.slice(2)].join(' ');
  writeFileSync(
    file,
    `# Results

Written by \`${command}\` on ${new Date().toISOString().slice(0, 10)} in ${minutes} minutes: ${met} of ${judged} targets met.
Rows of questions that this run did not measure are from earlier runs.

## Machine

${(await describeMachine(bench)).map((line) => `- ${line}.`).join('\n')}

## How it was measured

- The server runs as in production: \`NODE_ENV=production\`, a log line for each request into a file, Basic authentication,
  and the permissions that creating all objects over HTTP gives. Each measurement has its own database.
- autocannon generates the load in a separate process, with ${connections} connections kept alive. The compared programs take turns:
  ${rounds} rounds of ${seconds} s each unless a row says otherwise, after one round that is not counted. Figures are medians of the
  rounds. The result is the median of the ratios of each round. One unexpected status, one broken connection or one
  timeout voids the run.
- "Bare" is a \`node:http\` server in a separate process. It reads the request, parses the JSON of a body, and sends the same
  status and the same bytes with \`Content-Type\` and \`Content-Length\`, in addition to the headers of Node.js (\`Date\`,
  \`Connection\`, \`Keep-Alive\`). For information, the remark gives the ratio to a bare server that sends all headers of Coffer.
- "CPU µs" is the processor time of the server for each request (for each record in batches), including garbage collection,
  and after a plus that of PostgreSQL. Other programs on the machine disturb it less than rates.
- "by hand", "driver" and "pgbench" are measured in the same run, on the same database server.

## Table

${[heading, ...lines].join('\n')}
`,
  );
  console.error(`wrote ${file}`);
}

/**
 * Returns the rows of this run, each in the position of the earlier row for the same question and backend, and all other
 * earlier rows.
 *
 * @param {readonly string[]} rows
 */
function withEarlier(rows) {
  const before = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  const earlier = before.filter((line) => line.startsWith('| ')).slice(2);
  const now = new Map(rows.map((row) => [keyOf(row), row]));
  const kept = earlier.map((row) => now.get(keyOf(row)) ?? row);
  const known = new Set(earlier.map(keyOf));
  return [...kept, ...rows.filter((row) => !known.has(keyOf(row)))];
}

/** Returns question and backend of a row. @param {string} row */
function keyOf(row) {
  return row.split(' | ').slice(0, 2).join(' | ');
}
