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
Rows of questions that were not asked this time are those of the run before.

## Machine

${(await describeMachine(bench)).map((line) => `- ${line}.`).join('\n')}

## How it was measured

- The server runs as in production: \`NODE_ENV=production\`, a log line for each request into a file, Basic authentication,
  permissions as they come from creating everything over HTTP. Data lies in a database of its own for each measurement.
- The load comes from autocannon in a process of its own, ${connections} connections kept alive. What is compared takes turns:
  ${rounds} rounds of ${seconds} s each unless a row says otherwise, after one round that is not counted. Figures are medians of the
  rounds; the result is the median of the ratios of each round. One answer with another status than expected, one
  broken connection or one timeout voids the run.
- "Bare" is a \`node:http\` server in a process of its own that reads the request, parses the JSON of a body, and
  answers the same status and the same bytes with \`Content-Type\` and \`Content-Length\`, beside what Node.js adds itself
  (\`Date\`, \`Connection\`, \`Keep-Alive\`). For information, the remark tells the ratio to a bare server that sends all
  the headers that Coffer sends.
- "CPU µs" is the processor time that the server took for each request (for each record in batches), garbage collection
  included, and after a plus that of PostgreSQL. Other programs on the machine disturb it less than they disturb rates.
- "by hand", "driver" and "pgbench" are asked in the same run, on the same database server.

## Table

${[heading, ...lines].join('\n')}
`,
  );
  console.error(`wrote ${file}`);
}

/**
 * The rows of this run, each in the place of the one that asked the same before, and the rest of those.
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

/** Question and backend. @param {string} row */
function keyOf(row) {
  return row.split(' | ').slice(0, 2).join(' | ');
}
