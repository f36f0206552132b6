// A Redis server for the benchmarks with an append-only file that is flushed every second, where the program is installed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { freePort } from './programs.mjs';

/** @returns {string | undefined} */
export function findRedis() {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  return folders.map((folder) => path.join(folder, 'redis-server')).find((file) => existsSync(file));
}

/** @param {string} program @param {string} folder @returns {Promise<{ url: string, stop: () => Promise<void> }>} */
export async function startRedis(program, folder) {
  mkdirSync(folder);
  const port = await freePort();
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'yes'];
  const child = spawn(program, options, { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve, reject) => {
    child.stdout.on('data', (/** @type {Buffer} */ data) => {
      if (data.toString().includes('Ready to accept connections')) resolve(undefined);
    });
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
  });
  return {
    url: `redis://127.0.0.1:${port}/0`,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}
