// Follows a page as a newcomer does: every command of it is copied into a terminal, in order. A command that serves goes
// on in the background, as in a terminal of its own, until the next one that serves takes its place.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { terminalEnvironment } from '../support/npm.ts';
import { freePort } from './container.ts';
import type { CodeBlock } from './site.ts';

const run = promisify(execFile);

/** The only blocks that a page may have: commands, responses of the command before, and programs to be saved. */
const languages = ['sh', 'json', 'js'];
const serving = /^\s*(?<before>(?:.+ && )?)(?<server>npm start|npx coffer start\b.*)$/;

export interface Visit {
  /** What the newcomer reads. */
  readonly blocks: readonly CodeBlock[];
  /** Folder in which the first command is run. */
  readonly cwd: string;
  /** Folder for the outcome of each block. */
  readonly notes: string;
}

export interface Step {
  readonly commands: string;
  /** Standard output of the commands. */
  readonly output: string;
  /** Response that the page shows below the commands, unless it shows none. */
  readonly shown?: string;
}

export interface Outcome {
  readonly steps: readonly Step[];
  /** Log of each service that was started, to its end. */
  readonly logs: readonly string[];
}

/** Runs the commands of a page; throws when one of them fails or a request is refused. */
export async function follow({ blocks, cwd, notes }: Visit): Promise<Outcome> {
  const strange = blocks.filter(({ language }) => !languages.includes(language));
  if (strange.length > 0) throw new Error(`not a command, a response or a program: ${JSON.stringify(strange)}`);
  mkdirSync(notes, { recursive: true });
  // Requests that get an error end the run, and responses come without the progress of the transfer.
  writeFileSync(path.join(notes, '.curlrc'), 'fail-with-body\nsilent\nshow-error\n');
  const port = String(await freePort());
  const script = path.join(notes, 'commands.sh');
  writeFileSync(
    script,
    [prelude, ...blocks.map((block, index) => commandsFor(block, index, port)), '__stop', ''].join('\n'),
  );
  const env = { ...terminalEnvironment(), PORT: port, CURL_HOME: notes, NOTES: notes };
  try {
    await run('bash', ['-e', script], { cwd, env, maxBuffer: 2 ** 26, timeout: 600_000 });
  } catch (error) {
    throw new Error(`a command failed:\n${readFileSync(path.join(notes, 'errors'), 'utf8')}`, { cause: error });
  }
  const count = blocks.filter(({ text, language }) => language === 'sh' && linesOf(text).some(isServing)).length;
  return {
    steps: blocks.flatMap(({ language, text }, index) => {
      if (language !== 'sh') return [];
      const next = blocks[index + 1];
      const output = readFileSync(path.join(notes, `${index}.out`), 'utf8');
      return [{ commands: text, output, ...(next?.language === 'json' ? { shown: next.text } : {}) }];
    }),
    logs: Array.from({ length: count }, (_, index) => readFileSync(path.join(notes, `${index + 1}.log`), 'utf8')),
  };
}

const linesOf = (text: string): readonly string[] => text.split('\n').map((line) => line.trim());
const isServing = (line: string): boolean => serving.test(line);

/** Returns what the terminal gets for a block; the port of the page is that of the service that runs now. */
function commandsFor({ language, text }: CodeBlock, index: number, port: string): string {
  const given = text.replaceAll(':8888', `:${port}`);
  if (language === 'sh') {
    const lines = given.split('\n').map((line) => line.replace(serving, '$<before>__serve $<server>'));
    return [`exec > "$NOTES/${index}.out"`, ...lines].join('\n');
  }
  const file = language === 'js' ? /^\/\/ ([\w.-]+\.mjs)\n/.exec(given)?.[1] : undefined;
  return file === undefined ? '' : `cat > ${file} <<'END_OF_FILE'\n${given}\nEND_OF_FILE`;
}

/** Job control gives each service a process group, which Ctrl+C ends as a whole. */
const prelude = `
set -m
exec 2> "$NOTES/errors"
__count=0
__stop() {
  [ -n "\${__server-}" ] || return 0
  kill -INT -- "-$__server"
  wait "$__server" || true
  wait "$__reader"
  unset __server
}
trap __stop EXIT
__serve() {
  __stop
  __count=$((__count + 1))
  local log="$NOTES/$__count.log" pipe="$NOTES/$__count.pipe" line=''
  mkfifo "$pipe"
  "$@" > "$pipe" 2>&1 &
  __server=$!
  exec 3< "$pipe"
  until [[ $line == *'"Listening"'* ]]; do
    IFS= read -r line <&3 || { cat "$log" >&2; return 1; }
    printf '%s\\n' "$line" >> "$log"
  done
  cat <&3 >> "$log" &
  __reader=$!
  exec 3<&-
}`;

/** Returns a text with everything replaced that differs from run to run: ids, users and timestamps. */
export function withoutChance(text: string): string {
  return text
    .trim()
    .replaceAll(/[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/g, '<id>')
    .replaceAll(/basicauth:[\da-f]+…?/g, '<user>')
    .replaceAll(/\b\d{13}\b/g, '<time>');
}
