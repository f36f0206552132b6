// Writes the bill of materials of what is installed with the package, in the form of CycloneDX. npm makes it of the
// lock file; asked for productive packages alone it forgets those that something in development needs as well, so that
// it is asked for all, and what only development needs is taken out here. Nothing in it depends on when and where it
// was made.
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { findInstalled, nameAt, readLockFile } from './installed-packages.mjs';

/**
 * @typedef {{ 'bom-ref': string, name: string, version: string }} Component
 * @typedef {{ components: Component[], dependencies: { ref: string, dependsOn?: string[] }[], serialNumber?: string, metadata: { timestamp?: string, component: Component & { type: string } } }} Bill
 */

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const target = path.join(root, 'dist', 'sbom.cdx.json');

const usage = `Usage: npm run sbom [-- --output FILE]

Writes the bill of materials (CycloneDX, JSON) of the package and of everything that is installed with it.

  --output FILE  where to (default: dist/sbom.cdx.json)`;

/** What is installed with the package, as `name@version`. @returns {Set<string>} */
function readInstalled() {
  const lock = readLockFile(root);
  return new Set(
    [...findInstalled(lock)].map((place) => `${lock.get(place)?.name ?? nameAt(place)}@${lock.get(place)?.version}`),
  );
}

/** @returns {Promise<Bill>} of all packages */
async function askNpm() {
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'];
  const options = { cwd: root, maxBuffer: 100_000_000, timeout: 60_000 };
  const npm = process.env['npm_execpath'];
  const run = promisify(execFile);
  const { stdout } = await (npm === undefined
    ? run('npm', args, options)
    : run(process.execPath, [npm, ...args], options));
  return JSON.parse(stdout);
}

/** @throws Error when something that is installed would be missing */
async function makeBill() {
  const installed = readInstalled();
  const bill = await askNpm();
  const idOf = (/** @type {Component} */ { name, version }) => `${name}@${version}`;
  const components = bill.components.filter((component) => installed.has(idOf(component)));
  const listed = new Set(components.map(idOf));
  const missing = [...installed].filter((id) => !listed.has(id));
  if (missing.length > 0) throw new Error(`npm does not list ${missing.join(', ')}.`);
  const { component } = bill.metadata;
  const refs = new Set([component['bom-ref'], ...components.map((each) => each['bom-ref'])]);
  const dependencies = bill.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }));
  const metadata = { ...bill.metadata, component: { ...component, type: 'application', name: 'coffer' } };
  delete metadata.timestamp;
  const whole = { ...bill, metadata, components, dependencies };
  delete whole.serialNumber;
  return whole;
}

const { values } = parseArgs({ options: { output: { type: 'string' }, help: { type: 'boolean', short: 'h' } } });
if (values.help === true) {
  console.log(usage);
} else {
  const file = path.resolve(values.output ?? target);
  const bill = await makeBill();
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(bill, undefined, 2)}\n`);
  console.log(`${bill.components.length} packages in ${path.relative(process.cwd(), file)}`);
}
