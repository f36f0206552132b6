// Describes the machine of the measurements.
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { availableParallelism, cpus, release, tmpdir, totalmem, type } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { DatabaseSync } from '@photostructure/sqlite';
import { median } from './contest.mjs';
import { serverSettings } from './postgresql.mjs';

/**
 * Returns the lines of a list in Markdown.
 *
 * @param {import('./workbench.mjs').Workbench} bench
 * @returns {Promise<string[]>}
 */
export async function describeMachine(bench) {
  const model = cpus().at(0)?.model ?? 'unknown';
  const sqlite = new DatabaseSync(':memory:');
  const row = /** @type {{ version?: unknown }} */ (sqlite.prepare('SELECT sqlite_version() AS version').get());
  sqlite.close();
  const flush = flushMilliseconds();
  const lines = [
    `Processor: ${model.trim()}, ${availableParallelism()} logical processors, shared by server, database and load generator`,
    `Memory: ${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
    `Disk: ${flush.toFixed(2)} ms to flush 4 KiB (\`fdatasync\`, median of 200), so one writer alone cannot commit more than about ${Math.round(1000 / flush)} times a second`,
    `System: ${type()} ${release()}, Node.js ${process.versions.node}, SQLite ${String(row.version)} (\`synchronous = FULL\`)`,
  ];
  if (bench.among('postgresql').length > 0) {
    const { version } = await bench.places.postgresql();
    lines.push(`PostgreSQL ${version} on the same machine, durable as by default, with ${serverSettings.join(', ')}`);
  }
  return lines;
}

/** Measures the flush time of the disk with the databases of the benchmarks. */
function flushMilliseconds() {
  const folder = mkdtempSync(path.join(tmpdir(), 'coffer-flush-'));
  const file = openSync(path.join(folder, 'file'), 'w');
  const block = Buffer.alloc(4096);
  const times = Array.from({ length: 200 }, () => {
    const began = performance.now();
    writeSync(file, block);
    fdatasyncSync(file);
    return performance.now() - began;
  });
  closeSync(file);
  rmSync(folder, { recursive: true });
  return median(times);
}
