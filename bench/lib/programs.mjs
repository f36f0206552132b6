// The programs that a benchmark compares, each in a process of its own: the server as a user starts it, and a bare
// `node:http` server that answers the same bytes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const executable = fileURLToPath(new URL('../../bin/coffer.js', import.meta.url));
const bareServer = fileURLToPath(new URL('bare-server.mjs', import.meta.url));

/** Credentials of every benchmark. */
export const authorization = `Basic ${Buffer.from('bench:secret').toString('base64')}`;

/**
 * @typedef {{ url: string, stop: () => Promise<void> }} Program
 */

/**
 * Starts the server with everything on one backend.
 *
 * @param {'memory' | 'sqlite'} backend
 * @returns {Promise<Program>} whose `url` is the root of the protocol, without trailing slash
 */
export async function startServer(backend) {
  const folder = await mkdtemp(path.join(tmpdir(), 'coffer-bench-'));
  const config = path.join(folder, 'bench.ini');
  await writeFile(config, '');
  const file = path.join(folder, 'bench.sqlite3');
  const urls = backend === 'sqlite' ? { SVC_STORAGE_URL: file, SVC_PERMISSION_URL: file, SVC_CACHE_URL: file } : {};
  const child = spawn(process.execPath, [executable, 'start', '--config', config, '--port', '0'], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      NODE_ENV: 'production',
      SVC_USERID_HMAC_SECRET: 'secret of the benchmarks',
      SVC_MULTIAUTH_POLICIES: 'basicauth',
      SVC_LOG_FORMAT: 'json',
      SVC_STORAGE_BACKEND: backend,
      SVC_PERMISSION_BACKEND: backend,
      SVC_CACHE_BACKEND: backend,
      ...urls,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await firstMatch(child, /http:\/\/127\.0\.0\.1:\d+\/v1/);
  return {
    url,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Starts the bare server, which reads each request and answers the given body.
 *
 * @param {string} body
 * @returns {Promise<Program>}
 */
export async function startBare(body) {
  const child = spawn(process.execPath, [bareServer], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(body);
  const url = await firstMatch(child, /http:\/\/127\.0\.0\.1:\d+/);
  return {
    url,
    async stop() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/**
 * Waits for the first output that matches, and keeps reading what follows so that the program never blocks on it.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @param {RegExp} pattern
 * @returns {Promise<string>}
 */
function firstMatch(child, pattern) {
  let output = '';
  return new Promise((resolve, reject) => {
    let isFound = false;
    child.stdout?.on('data', (/** @type {Buffer} */ chunk) => {
      if (isFound) return;
      output += chunk.toString();
      const match = pattern.exec(output);
      if (match === null) return;
      isFound = true;
      resolve(match[0]);
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code} before it listened:\n${output}`)));
  });
}
