// Runs programs of an image that was built without an engine, as a container would: as its user, in its working folder,
// with read-only files except for the volume and /tmp, and without the environment of the tests.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { isRoot, type Image } from './image.ts';

const run = promisify(execFile);

/** Takes the right to write from everything but the volumes and /tmp. */
export async function makeReadOnly(image: Image): Promise<void> {
  await mkdir(path.join(image.root, 'tmp'), { recursive: true });
  await run('chmod', ['-R', 'a-w', image.root]);
  await chmod(path.join(image.root, 'tmp'), 0o1777);
  for (const volume of image.volumes) await chmod(path.join(image.root, volume), 0o700);
}

/** Gives the right to write back, so that the folder can be removed. */
export async function makeRemovable(folder: string): Promise<void> {
  if (existsSync(folder)) await run('chmod', ['-R', 'u+rwX', folder]);
}

/** Returns every file outside of volumes and /tmp, with values that show changes. */
export function listFiles(image: Image): readonly string[] {
  const writable = ['/tmp', ...image.volumes].map((name) => path.join(image.root, name) + path.sep);
  return readdirSync(image.root, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(image.root, name))
    .filter((name) => !writable.some((folder) => (name + path.sep).startsWith(folder)) && existsSync(name))
    .map((name) => `${name} ${statSync(name).mtimeMs} ${statSync(name).size}`)
    .toSorted();
}

export interface ContainerOptions {
  /** Takes the place of `CMD`. */
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

function spawnIn(
  image: Image,
  program: readonly string[],
  environment: Readonly<Record<string, string>>,
): ChildProcess {
  const [name = '', ...args] = program;
  if (name !== 'node') throw new Error(`only Node is there, not ${name}`);
  return spawn(
    process.execPath,
    args.map((arg) => (arg.startsWith('/') ? path.join(image.root, arg) : arg)),
    {
      cwd: path.join(image.root, image.folder),
      env: { HOME: '/nonexistent', TMPDIR: path.join(image.root, 'tmp'), ...image.environment, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(isRoot ? image.user : {}),
    },
  );
}

function codeOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
}

export interface Outcome {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a command to its end: `docker run IMAGE COMMAND`. */
export function runCommand(
  image: Image,
  { command = image.command, environment = {} }: ContainerOptions,
): Promise<Outcome> {
  return outcomeOf(spawnIn(image, [...image.entrypoint, ...command], environment));
}

async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { code: await codeOf(child), output };
}

export interface Container {
  /** Root of the protocol, without trailing slash. */
  readonly url: string;
  /** Lines of the log so far, which all are JSON. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  /** Runs the health check of the image; the exit code is 0 for healthy. */
  checkHealth(): Promise<number | null>;
  /** Sends SIGTERM, as `docker stop` does, and answers with the exit code. */
  stop(): Promise<number | null>;
}

/** Starts the service as the image says, on a free port, and waits until it listens. */
export async function startContainer(
  image: Image,
  environment: Readonly<Record<string, string>> = {},
): Promise<Container> {
  const port = await freePort();
  const settings = { PORT: String(port), ...environment };
  const child = spawnIn(image, [...image.entrypoint, ...image.command], settings);
  const ended = codeOf(child);
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const log: Record<string, unknown>[] = [];
  const listening = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout! }).on('line', (text) => {
      const line = JSON.parse(text) as Record<string, unknown>;
      log.push(line);
      if (line['Type'] === 'Listening') resolve();
    });
  });
  const died = ended.then((code) => {
    throw new Error(`it ended with ${code} before it listened: ${errors}${JSON.stringify(log)}`);
  });
  await Promise.race([listening, died]);
  died.catch(() => undefined);
  return {
    url: `http://127.0.0.1:${port}/v1`,
    log,
    checkHealth: async () => (await outcomeOf(spawnIn(image, image.healthCheck, settings))).code,
    stop: () => {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

/** Returns a port that nothing listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '0.0.0.0', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
