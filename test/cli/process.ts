// Runs the command line as users do: the built program in a process of its own, in a folder of its own.
import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const program = fileURLToPath(new URL('../../bin/coffer.js', import.meta.url));

/** A working folder that is gone after the test. */
export function workingFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-cli-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

export interface Place {
  readonly cwd: string;
  /** Path of the program; that of the checkout unless given. */
  readonly program?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** What the program reads; nothing unless given. */
  readonly input?: string;
}

/** Nothing of the environment of the tests but what a program needs to run. */
function cleanEnvironment({ environment = {} }: Place): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment };
}

function spawnProgram(args: readonly string[], place: Place): ChildProcess {
  return spawn(process.execPath, [place.program ?? program, ...args], {
    cwd: place.cwd,
    env: cleanEnvironment(place),
    stdio: [place.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
}

export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a command to its end. */
export async function run(args: readonly string[], place: Place): Promise<Outcome> {
  const child = spawnProgram(args, place);
  let out = '';
  let err = '';
  child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (err += chunk.toString()));
  child.stdin?.end(place.input);
  const code = await codeOf(child);
  return { code, out, err };
}

function codeOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
}

export interface RunningService {
  /** Of the root view, with trailing slash. */
  readonly url: string;
  readonly port: number;
  /** Log lines so far. */
  readonly log: readonly LogLine[];
  /** Of the process that was started. */
  readonly pid: number | undefined;
  kill(signal: NodeJS.Signals): void;
  /** Resolves once a log line of that type was written. */
  logged(type: string): Promise<LogLine>;
  /** Resolves at the next log line of that type. */
  loggedNext(type: string): Promise<LogLine>;
  /** Resolves once that many log lines of that type were written. */
  loggedCount(type: string, count: number): Promise<void>;
  /** Exit code, once it has ended. */
  readonly ended: Promise<number | null>;
}

export interface LogLine {
  readonly Type: string;
  readonly Severity: number;
  readonly Pid: number;
  readonly Fields?: Readonly<Record<string, unknown>>;
}

export interface StartingService extends Pick<RunningService, 'log' | 'kill' | 'logged' | 'ended'> {
  /** Resolves when it listens. */
  readonly listening: Promise<RunningService>;
  /** What it has complained about so far. */
  readonly complaints: () => string;
}

/** Starts the service on a free port and waits until it listens. */
export function start(args: readonly string[], place: Place): Promise<RunningService> {
  return launch(args, place).listening;
}

/** Starts the service on a free port. */
export function launch(args: readonly string[], place: Place): StartingService {
  const child = spawnProgram(['start', '--port', '0', ...args], place);
  const ended = codeOf(child);
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let err = '';
  child.stderr?.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const log: LogLine[] = [];
  const lines = new EventEmitter();
  createInterface({ input: child.stdout! }).on('line', (text) => {
    const line = JSON.parse(text) as LogLine;
    log.push(line);
    lines.emit(line.Type, line);
  });
  const loggedNext = async (type: string): Promise<LogLine> => ((await once(lines, type)) as [LogLine])[0];
  const logged = async (type: string): Promise<LogLine> =>
    log.find((line) => line.Type === type) ?? (await loggedNext(type));
  const loggedCount = async (type: string, count: number): Promise<void> => {
    while (log.filter((line) => line.Type === type).length < count) await loggedNext(type);
  };
  const died = ended.then((code) => {
    throw new Error(`the service ended with ${code} before it listened: ${err}`);
  });
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal);
  const common = { log, ended, logged, loggedNext, loggedCount, kill };
  const listening = Promise.race([logged('Listening'), died]).then((line) => {
    const url = String(line.Fields?.['url']);
    return { ...common, url, port: Number(new URL(url).port), pid: child.pid };
  });
  listening.catch(() => undefined);
  died.catch(() => undefined);
  return { ...common, listening, complaints: () => err };
}

/** The `Authorization` header of a user. */
export function basic(user: string): string {
  return `Basic ${Buffer.from(`${user}:`).toString('base64')}`;
}
