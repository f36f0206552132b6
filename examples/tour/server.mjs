// Starts the real server for the tour: on a free port, in an empty folder that is removed afterwards. Started like
// this, without a configuration file, it keeps its data in SQLite, durably.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../bin/coffer.js', import.meta.url));

/**
 * @typedef {object} RunningServer
 * @property {string} api address with version
 * @property {string} folder where it keeps its data
 * @property {() => Promise<void>} stop stops it and removes the folder
 */

/**
 * Starts a server and waits until it listens.
 *
 * @param {Record<string, string>} [environment] settings that differ from those of a first start
 * @returns {Promise<RunningServer>}
 */
export async function startServer(environment = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), 'coffer-tour-'));
  const child = spawn(process.execPath, [program, 'start', '--port', '0'], {
    cwd: folder,
    env: { ...process.env, SVC_LOG_LEVEL: 'info', SVC_LOG_FORMAT: 'json', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  // Whatever ends the tour ends its server; there is no time for manners then.
  const abandon = () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', abandon);
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    process.removeListener('exit', abandon);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    return { api: `${await readAddress(child.stdout, child.stderr)}/v1`, folder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * The address from the line of the log that tells it.
 *
 * @param {import('node:stream').Readable} output
 * @param {import('node:stream').Readable} complaints
 * @returns {Promise<string>} without a slash at the end
 */
function readAddress(output, complaints) {
  return new Promise((resolve, reject) => {
    /** @type {string[]} */
    const told = [];
    complaints.setEncoding('utf8').on('data', (/** @type {string} */ text) => told.push(text));
    const lines = createInterface({ input: output });
    lines.on('line', (line) => {
      told.push(`${line}\n`);
      const address = line.includes('"Listening"') ? /"url":"(https?:\/\/[^"/]+)/.exec(line)?.[1] : undefined;
      // Later lines are read too, so that the pipe never fills, but no code waits for them.
      if (address !== undefined) resolve(address);
    });
    lines.on('close', () => reject(new Error(`The server did not start.\n${told.join('')}`)));
  });
}
