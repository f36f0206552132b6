// Starts the application on this machine: a service with its data in the folder `data`, and the page. Ctrl+C stops both.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildPage, createBucket, environment, servePage } from './serve.mjs';

const usage = `Usage: node start.mjs [options]

Options
  --data FOLDER          data of the service (data)
  --port N               port of the page (5173)
  --service-port N       port of the service (8888)
  --help                 show this text`;

const { values: options } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    data: { type: 'string', default: path.join(import.meta.dirname, 'data') },
    port: { type: 'string', default: '5173' },
    'service-port': { type: 'string', default: '8888' },
  },
});
if (options.help) {
  console.log(usage);
  process.exit();
}
const service = `http://127.0.0.1:${options['service-port']}`;

/** Starts the service. Resolves when it answers. */
async function startService() {
  const program = fileURLToPath(new URL('../../bin/coffer.js', import.meta.url));
  const child = spawn(process.execPath, [program, 'start', '--port', options['service-port']], {
    cwd: options.data,
    env: { ...process.env, SVC_LOG_LEVEL: 'warn', ...environment },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = once(child, 'exit').then(() => {
    throw new Error('The service has ended.');
  });
  const answers = async () => {
    while (!(await fetch(`${service}/v1/`).catch(() => undefined))?.ok) await pause(100);
  };
  await Promise.race([answers(), ended]);
  ended.catch((/** @type {unknown} */ error) => {
    console.error(error);
    process.exit(1);
  });
}

/** Returns the password of the owner of the bucket, from a file of the data folder. */
function ownerPassword() {
  const file = path.join(options.data, 'owner-password');
  if (!existsSync(file)) writeFileSync(file, randomBytes(18).toString('base64url'), { mode: 0o600 });
  return readFileSync(file, 'utf8');
}

mkdirSync(options.data, { recursive: true });
await Promise.all([startService(), buildPage()]);
await createBucket(`${service}/v1`, ownerPassword());
const { origin } = await servePage(service, { port: Number(options.port) });
console.log(`Open ${origin} in two browsers, or in a window and a private window.`);
