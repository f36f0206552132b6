// How fast do 100,000 records come in: from a file or another server with `coffer import`, from another backend with
// `coffer copy`, and over HTTP in batches? Compared with the driver, which inserts as many rows.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { insertIntoPostgresql, insertIntoSqlite } from './lib/by-hand.mjs';
import { headers } from './lib/client.mjs';
import { createBatch } from './lib/creates.mjs';
import { formatCount, formatRate } from './lib/rows.mjs';

export const title = 'load';
const executable = fileURLToPath(new URL('../bin/coffer.js', import.meta.url));

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  const count = bench.size.isShort ? 500 : 100_000;
  const { places } = bench;
  for (const backend of bench.among('sqlite', 'postgresql')) {
    const byHand = await insertByHand(bench, backend, count);
    const source = await bench.server('sqlite', { records: count });
    const target = await places.createEmpty(backend);
    const config = configOf(bench, target.settings);
    const from = ['--from', `${source.url}/v1`, '--header', `authorization: ${headers.authorization}`];
    const imported = await coffer(['import', 'kinto', ...from, '--to-config', config, '--quiet', '--accept-unseen']);
    await bench.stop(source);
    await target.drop();
    const copied = await places.createEmpty(backend);
    const original = configOf(bench, (await places.create('sqlite', { records: count })).settings);
    const copy = configOf(bench, copied.settings);
    const copySeconds = await coffer(['copy', '--from-config', original, '--to-config', copy, '--quiet']);
    await copied.drop();
    const file = path.join(bench.folder('export'), 'all.ndjson');
    const exportSeconds = await coffer(['export', file, '--config', original, '--quiet']);
    const filled = await places.createEmpty(backend);
    const to = configOf(bench, filled.settings);
    const fileSeconds = await coffer(['import', 'file', file, '--to-config', to, '--quiet']);
    const verifySeconds = await coffer(['import', 'file', file, '--to-config', to, '--verify-only', '--quiet']);
    await filled.drop();
    const program = await bench.server(backend, { records: 0 });
    const sent = await bench.load(program, {
      requests: [createBatch],
      headers,
      expected: [200],
      connections: Math.min(8, bench.size.connections),
      amount: count / 25,
    });
    await bench.stop(program);
    const row = { backend, comparedWith: `driver ${formatRate(count / byHand)}` };
    const rows = formatCount(count);
    yield {
      ...row,
      question: `${title} ${rows} records: coffer import file`,
      ours: formatRate(count / fileSeconds),
      value: byHand / fileSeconds,
      target: { atLeast: 0.3 },
      remark:
        `${fileSeconds.toFixed(1)} s with start, checksum, permissions, and comparing clocks and counts; ` +
        `reading all back ${verifySeconds.toFixed(1)} s, the export ${exportSeconds.toFixed(1)} s`,
    };
    yield {
      ...row,
      question: `${title} ${rows} records: coffer import kinto`,
      ours: formatRate(count / imported),
      value: byHand / imported,
      remark: `${imported.toFixed(1)} s with start, reading over HTTP, permissions, and comparing everything`,
    };
    yield {
      ...row,
      question: `${title} ${rows} records: coffer copy`,
      ours: formatRate(count / copySeconds),
      value: byHand / copySeconds,
      remark: `${copySeconds.toFixed(1)} s with start, permissions, and comparing everything`,
    };
    yield {
      ...row,
      question: `${title} ${rows} records: batches of 25`,
      ours: formatRate(count / sent.seconds),
      value: byHand / sent.seconds,
      latency: sent,
    };
  }
}

/** Seconds. @param {import('./lib/workbench.mjs').Workbench} bench @param {string} backend @param {number} count */
async function insertByHand(bench, backend, count) {
  if (backend === 'sqlite') return insertIntoSqlite(path.join(bench.folder('rows'), 'rows.sqlite3'), count);
  const server = await bench.places.postgresql();
  return insertIntoPostgresql(server.url(await server.createDatabase()), count);
}

/** @param {import('./lib/workbench.mjs').Workbench} bench @param {Record<string, string>} settings @returns {string} */
function configOf(bench, settings) {
  const file = path.join(bench.folder('config'), 'coffer.ini');
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  writeFileSync(file, `[app:main]\n${lines.join('\n')}\n`);
  return file;
}

/** Runs a command. @param {string[]} args @returns {Promise<number>} seconds */
async function coffer(args) {
  const began = performance.now();
  const child = spawn(process.execPath, [executable, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [said, complaints, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (code !== 0) throw new Error(`coffer ${args[0]} ended with ${code}: ${said}${complaints}`);
  return (performance.now() - began) / 1000;
}
