// The programs that benchmarks compare, each in a separate process: the server as in production, and a bare `node:http` server
// that sends the same bytes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const executable = fileURLToPath(new URL('../../bin/coffer.js', import.meta.url));
const bareServer = fileURLToPath(new URL('bare-server.mjs', import.meta.url));
const bareStreams = fileURLToPath(new URL('bare-streams.mjs', import.meta.url));
const inProcessService = fileURLToPath(new URL('in-process-service.mjs', import.meta.url));
const handMadeServer = fileURLToPath(new URL('hand-made-server.mjs', import.meta.url));
const patienceMs = 300_000;

/**
 * @typedef {object} Program
 * @property {string} url scheme, host and port
 * @property {number} pid
 * @property {number} startMs from its start to the first answer
 * @property {() => Promise<void>} stop
 *
 * @typedef {{ status: number, headers: Record<string, string>, body: string }} Answer
 */

/**
 * Starts `coffer start` and waits for the first response. It logs to a file in the folder, as in production.
 *
 * @param {string} folder
 * @param {Record<string, string>} environment
 * @param {{ nodeArgs?: string[], args?: string[] }} [options]
 * @returns {Promise<Program>}
 */
export async function startServer(folder, environment, { nodeArgs = [], args = [] } = {}) {
  const port = await freePort();
  const logFile = path.join(folder, `server-${port}.log`);
  const log = openSync(logFile, 'w');
  const began = performance.now();
  const child = spawn(process.execPath, [...nodeArgs, executable, 'start', '--port', String(port), ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...environment },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const url = `http://127.0.0.1:${port}`;
  while (!(await answers(`${url}/v1/`))) {
    if (child.exitCode !== null || performance.now() - began > patienceMs) {
      child.kill('SIGKILL');
      throw new Error(`the server did not start:\n${readFileSync(logFile, 'utf8').slice(-3000)}`);
    }
    await wait(5);
  }
  return { url, pid: child.pid ?? 0, startMs: performance.now() - began, stop: () => end(child, 'SIGTERM') };
}

/** @param {string} url @returns {Promise<boolean>} */
async function answers(url) {
  try {
    const response = await fetch(url);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    // The server does not listen yet.
    return false;
  }
}

/**
 * Starts the bare server, which reads each request and sends the given response.
 *
 * @param {Answer} answer
 * @returns {Promise<Program>}
 */
export function startBare(answer) {
  return startToldServer(bareServer, answer, 'inherit');
}

/**
 * Starts the bare server of streams, which writes the given frame to all of them on POST.
 *
 * @param {string} frame
 * @returns {Promise<Program>}
 */
export function startBareStreams(frame) {
  return startToldServer(bareStreams, { frame }, 'inherit');
}

/**
 * Starts the server written by hand for one purpose. It logs to a file in the folder.
 *
 * @param {string} folder
 * @param {import('./hand-made-server.mjs').HandMade} purpose
 * @returns {Promise<Program>}
 */
export async function startHandMade(folder, purpose) {
  const log = openSync(path.join(folder, `by-hand-${Math.round(performance.now())}.log`), 'w');
  try {
    return await startToldServer(handMadeServer, purpose, log);
  } finally {
    closeSync(log);
  }
}

/**
 * Starts a server that reads its task from standard input and then prints its address.
 *
 * @param {string} file
 * @param {object} task
 * @param {number | 'inherit'} log where its standard error goes
 * @returns {Promise<Program>}
 */
async function startToldServer(file, task, log) {
  const began = performance.now();
  const env = { PATH: process.env['PATH'], NODE_ENV: 'production' };
  const child = spawn(process.execPath, [file], { env, stdio: ['pipe', 'pipe', log] });
  if (child.stdin === null || child.stdout === null) throw new Error('no pipes');
  child.stdin.end(JSON.stringify(task));
  const [line] = await once(child.stdout, 'data');
  const url = String(line).trim();
  return { url, pid: child.pid ?? 0, startMs: performance.now() - began, stop: () => end(child, 'SIGKILL') };
}

/**
 * Measures the processor time of the service in a process without sockets, in microseconds.
 *
 * @param {Record<string, string>} environment
 * @param {import('./in-process-service.mjs').Task} task
 * @returns {Promise<{ least: number, median: number }>}
 */
export async function measureInProcess(environment, task) {
  const env = { PATH: process.env['PATH'], NODE_ENV: 'production', ...environment };
  const child = spawn(process.execPath, [inProcessService], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(task));
  const [told, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (code !== 0) throw new Error(`the service ended with ${code}`);
  return JSON.parse(told);
}

/** @param {import('node:child_process').ChildProcess} child @param {NodeJS.Signals} signal */
async function end(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

/** Returns a free port. @returns {Promise<number>} */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
