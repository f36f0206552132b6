// The guided tour as a program: starts a server, or uses one that runs, and takes every step while telling about it.
import process from 'node:process';
import { parseArgs } from 'node:util';
import { Narrator } from './narrator.mjs';
import { startServer } from './server.mjs';
import { cleanUp, prepare, takeTour } from './tour.mjs';

const usage = `Usage: node examples/tour/run.mjs [--url ADDRESS [--keep]]

Loads the languages of the world into Coffer, asks, changes, shares and synchronises them, and tells each step.

Options
  --url ADDRESS  use the server there, such as http://127.0.0.1:8888/v1/, instead of starting one; the tour works in a
                 bucket of its own, as new users
  --keep         leave that bucket in place at the end and say how to reach it
  -h, --help     show this text

Without --url it starts a server on a free port, in an empty folder that is removed at the end ("npm run build" first).`;

/** What the command line asks for; `undefined` when only help is wanted. */
function readOptions() {
  const { values } = parseArgs({
    options: { url: { type: 'string' }, keep: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help === true) return undefined;
  const { url, keep = false } = values;
  if (url !== undefined && !URL.canParse(url)) throw new Error(`--url wants an address, ${url} is none.`);
  if (keep && url === undefined) throw new Error('--keep goes with --url: a server of the tour ends with the tour.');
  return { url, keep };
}

/** The address of the API, whether the version was given or not. @param {string} url */
function apiOf(url) {
  const address = url.replace(/\/+$/, '');
  return /\/v\d+$/.test(address) ? address : `${address}/v1`;
}

/** @param {string} text */
function print(text) {
  process.stdout.write(text);
}

/** @param {string} text */
function complain(text) {
  process.stderr.write(text);
}

/** @param {{ url: string | undefined, keep: boolean }} options */
async function run({ url, keep }) {
  // With this setting the server also tells users what they may do.
  const server = url === undefined ? await startServer({ SVC_EXPERIMENTAL_PERMISSIONS_ENDPOINT: 'true' }) : undefined;
  try {
    const api = server?.api ?? apiOf(url ?? '');
    print(`Coffer at ${api}${server === undefined ? '' : `, data in ${server.folder}`}\n`);
    const tour = prepare({ api, narrator: new Narrator({ write: print, isTerminal: process.stdout.isTTY }) });
    const begin = performance.now();
    await takeTour(tour);
    if (keep) print(`\nKept: ${api}${tour.bucket}, user ${tour.owner.name}, password ${tour.owner.password}\n`);
    else await cleanUp(tour);
    print(`\nThat was the tour, ${((performance.now() - begin) / 1000).toFixed(0)} s.\n`);
  } finally {
    await server?.stop();
  }
}

/** @returns {Promise<number>} the exit code */
async function main() {
  let options;
  try {
    options = readOptions();
  } catch (error) {
    complain(`${describe(error)}\n\n${usage}\n`);
    return 2;
  }
  if (options === undefined) {
    print(`${usage}\n`);
    return 0;
  }
  // Ends what was begun, the server included.
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  try {
    await run(options);
    return 0;
  } catch (error) {
    complain(`\nThe tour stops here: ${describe(error)}\n`);
    return 1;
  }
}

/** The error and what it came from. @param {unknown} error @returns {string} */
function describe(error) {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} (${describe(error.cause)})`;
}

process.exitCode = await main();
