// `coffer init`: writes a configuration file, and never over another one. The secrets in it are new, unless starts without
// configuration have left one: user ids of the data that is there were derived with that.
import { extname, join, relative } from 'node:path';
import process from 'node:process';
import { Command, InvalidArgumentError, Option } from 'commander';
import { findNamedFile } from '../../settings/load.ts';
import { dataFolder, findKeptSecret } from '../../settings/profile.ts';
import { formatTemplate } from '../../settings/template.ts';
import { namedFile, type CommonOptions } from '../common.ts';
import { initFrom } from '../init-from.ts';
import { writeNewFile } from '../new-file.ts';
import { ask, isInteractive, print } from '../terminal.ts';

const defaultTarget = 'config/coffer.ini';
const storages = ['sqlite', 'postgresql', 'redis', 'memory'] as const;
const caches = ['memory', 'sqlite', 'postgresql', 'redis', 'memcached'] as const;

interface InitOptions extends CommonOptions {
  readonly backend?: (typeof storages)[number];
  readonly cacheBackend?: (typeof caches)[number];
  readonly host: string;
  readonly port: number;
  readonly from?: string;
}

/** The cache that suits a storage: one that several processes can share where they can share the storage. */
const cacheOf = { sqlite: 'memory', postgresql: 'postgresql', redis: 'redis', memory: 'memory' } as const;

const examples = `
Without options it asks when there is a terminal to ask at, and else takes SQLite. The cache is kept in the same database
unless --cache-backend names another place; with SQLite it is kept in memory.

A secret that an earlier start without configuration has left in ./${dataFolder} is copied into the file: with another one all
users would have other ids, and lose access to their data.

Examples:
  coffer init                                    writes ${defaultTarget}
  coffer init --config store.toml                writes TOML
  coffer init --backend sqlite --host 0.0.0.0    asks nothing about the storage
  coffer init --from kinto.ini                   prints the file of a Kinto as it is written here, secrets included
  coffer init --from kinto.ini --config new.ini  writes it into a new file
`;

/** The command. */
export function initCommand(): Command {
  return new Command('init')
    .description('write a configuration file')
    .addOption(new Option('--backend <name>', 'where objects and permissions are kept').choices(storages))
    .addOption(new Option('--cache-backend <name>', 'where short-lived values are kept').choices(caches))
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on', parsePort, 8888)
    .option('--from <file>', 'print an existing configuration file in the present spelling')
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
  const backend = options.backend ?? (asks ? await ask('Where shall objects be kept?', storages) : storages[0]);
  const cacheBackend = options.cacheBackend ?? (await chooseCache(backend, asks));
  const format = extname(path).toLowerCase() === '.toml' ? 'toml' : 'ini';
  const secret = findKeptSecret(process.cwd());
  const text = formatTemplate({ format, backend, cacheBackend, host: options.host, port: options.port, secret });
  writeNewFile(path, text);
  const shown = relative(process.cwd(), path);
  const needsUrl = backend === 'postgresql' || cacheBackend === 'postgresql';
  const first = needsUrl ? ` Put the URL of your database there, then run: coffer migrate --config ${shown}.` : '';
  const kept =
    secret === undefined
      ? ''
      : ` It has the secret of ${join(dataFolder, 'secret')}, so that users keep their ids and their data.`;
  print(`Wrote ${shown}.${kept}${first} Start the service with: coffer start --config ${shown}`);
}

async function chooseCache(backend: (typeof storages)[number], asks: boolean): Promise<(typeof caches)[number]> {
  const suitable = cacheOf[backend];
  if (!asks) return suitable;
  return ask('And short-lived values?', [suitable, ...caches.filter((name) => name !== suitable)]);
}

/** A port from the command line. */
export function parsePort(given: string): number {
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  if (!(port <= 65_535)) throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
  return port;
}
