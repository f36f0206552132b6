// Runs npm as a user does in a folder: without what the npm that runs the tests has put into the environment.
import { execFile } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Variables by which npm tells a script about the package that it belongs to, and those of the test runner. */
const ofThisRun =
  /^(?:npm_(?:lifecycle|package)_|npm_(?:command|execpath|node_execpath)$|npm_config_.*prefix$|INIT_CWD$|NODE_ENV$|VITEST)/;

/** Returns the environment of a new terminal, with packages from npm's own cache where it has them. */
export function terminalEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !ofThisRun.test(name));
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  const programs = folders.filter((folder) => !folder.includes('node_modules')).join(path.delimiter);
  return {
    ...Object.fromEntries(kept),
    PATH: programs,
    npm_config_prefer_offline: 'true',
    npm_config_update_notifier: 'false',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
  };
}

/** Runs npm to its end and returns its standard output; throws with everything that it said when it fails. */
export async function npm(args: readonly string[], cwd: string): Promise<string> {
  const options = { cwd, env: terminalEnvironment(), maxBuffer: 2 ** 26, timeout: 300_000 };
  const { stdout } = await run('npm', [...args], options);
  return stdout;
}

/** Packs a checkout and returns the path of the package. */
export async function packCheckout(checkout: string, target: string): Promise<string> {
  const out = await npm(['pack', '--pack-destination', target], checkout);
  return path.join(target, out.trim().split('\n').at(-1) ?? '');
}
