// `coffer init`: writes a new configuration file, or converts an existing one.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import process from 'node:process';
import { Command, InvalidArgumentError, Option } from 'commander';
import { builtInBackends } from '../../backends/built-in-backends.ts';
import { examineSettings } from '../../backends/load-settings.ts';
import type { BuiltInBackend } from '../../contracts/backend-module.ts';
import { codeOf } from '../../base/system-errors.ts';
import { namesOf } from '../../settings/backend-description.ts';
import { coreFamilies } from '../../settings/families.ts';
import { findNamedFile } from '../../settings/load.ts';
import { describeProblem } from '../../settings/problems.ts';
import { dataFolder, findKeptSecret } from '../../settings/profile.ts';
import { rewriteConfigFile } from '../../settings/rewrite.ts';
import { coreSettingsFor, tablesOfBackends } from '../../settings/table.ts';
import { formatTemplate } from '../../settings/template.ts';
import { namedFile, type CommonOptions } from '../common.ts';
import { Exit, exitCodes } from '../exit-codes.ts';
import { ask, isInteractive, print, printError } from '../terminal.ts';

const defaultTarget = 'config/coffer.ini';
const caches = namesOf(builtInBackends, 'cache');
/** Backends that lose the data with the process are last. */
const storages = namesOf(
  builtInBackends.toSorted((a, b) => Number(a.isVolatile ?? false) - Number(b.isVolatile ?? false)),
  'storage',
);

interface InitOptions extends CommonOptions {
  readonly backend?: string;
  readonly cacheBackend?: string;
  readonly host: string;
  readonly port: number;
  readonly from?: string;
}

/** Returns the default cache of a storage: the same backend if several processes can share it. */
function cacheFor(storage: string): string {
  return find(storage)?.reasonForOneProcess === undefined ? storage : 'memory';
}

function find(name: string): BuiltInBackend | undefined {
  return builtInBackends.find((backend) => backend.name === name);
}

const examples = `
Existing files are never replaced. Without --backend the command asks on a terminal, and chooses SQLite otherwise. The
cache is in the same database unless --cache-backend is given; with SQLite it is in memory. The secrets in the file are
new, except one in ./${dataFolder} from an earlier start without configuration: it is copied, because a different one would
change all user ids.

Examples:
  coffer init                                    write ${defaultTarget}
  coffer init --config store.toml                write TOML
  coffer init --backend sqlite --host 0.0.0.0    do not ask for the storage
  coffer init --from kinto.ini                   print a Kinto file in current spelling, secrets included
  coffer init --from kinto.ini --config new.ini  write it to a new file
`;

export function initCommand(): Command {
  return new Command('init')
    .description('write a configuration file')
    .addOption(new Option('--backend <name>', 'backend of objects and permissions').choices(storages))
    .addOption(new Option('--cache-backend <name>', 'backend of the cache').choices(caches))
    .option('--host <address>', 'listening address', '127.0.0.1')
    .option('--port <number>', 'listening port', parsePort, 8888)
    .option('--from <file>', 'convert an existing configuration file to current spelling')
    .addHelpText('after', examples)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<InitOptions>();
      if (options.from === undefined) await init(options);
      else await initFrom(options.from, namedFile(options));
    });
}

async function init(options: InitOptions): Promise<void> {
  const path =
    findNamedFile({ configFile: namedFile(options), environment: process.env, cwd: process.cwd() }) ?? defaultTarget;
  const asks = isInteractive();
  const backend = options.backend ?? (asks ? await ask('Backend of objects and permissions?', storages) : storages[0]!);
  const cacheBackend = options.cacheBackend ?? (await chooseCache(backend, asks));
  const format = extname(path).toLowerCase() === '.toml' ? 'toml' : 'ini';
  const secret = findKeptSecret(process.cwd());
  const text = formatTemplate({
    format,
    backends: builtInBackends,
    backend,
    cacheBackend,
    host: options.host,
    port: options.port,
    secret,
  });
  writeNewFile(path, text);
  const shown = relative(process.cwd(), path);
  const needsUrl = [backend, cacheBackend].some((name) => find(name)?.needsMigration === true);
  const first = needsUrl ? ` Set the URL of your database in it, then run: coffer migrate --config ${shown}.` : '';
  const kept =
    secret === undefined
      ? ''
      : ` It contains the secret of ${join(dataFolder, 'secret')}, so users keep their ids and their data.`;
  print(`Wrote ${shown}.${kept}${first} Start the service with: coffer start --config ${shown}`);
}

async function chooseCache(backend: string, asks: boolean): Promise<string> {
  const suitable = cacheFor(backend);
  if (!asks) return suitable;
  return ask('Backend of the cache?', [suitable, ...caches.filter((name) => name !== suitable)]);
}

/** Parses a port from the command line. */
export function parsePort(given: string): number {
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  if (!(port <= 65_535)) throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
  return port;
}

/**
 * Prints a converted file, or writes it to a new file.
 *
 * @param target file to write; `undefined` for standard output
 * @throws Exit when the file cannot be written
 */
async function initFrom(source: string, target: string | undefined): Promise<void> {
  const { findVocabulary } = await import('../../app/plugins.ts');
  const { settings } = examineSettings({ configFile: source, environment: {}, purpose: 'other' });
  const { tables, families } = await findVocabulary(settings);
  const { text, problems } = rewriteConfigFile(source, {
    format: target !== undefined && extname(target).toLowerCase() === '.toml' ? 'toml' : 'ini',
    tables: [coreSettingsFor(builtInBackends), ...tablesOfBackends(builtInBackends), ...tables],
    families: [...coreFamilies, ...families],
  });
  for (const problem of problems) printError(describeProblem(problem));
  if (target === undefined) process.stdout.write(text);
  else {
    writeNewFile(target, text);
    print(`Wrote ${target}. Check it with: coffer check --config ${target}`);
  }
}

/**
 * Writes a new file that only its owner can read, and creates its folders.
 *
 * @throws Exit when the file exists or cannot be written
 */
function writeNewFile(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const code = codeOf(error) || 'unknown error';
    const reason = code === 'EEXIST' ? 'exists already; move it away first' : `cannot be written (${code})`;
    throw new Exit(exitCodes.failed, `${path} ${reason}`);
  }
}
