// Server programs for tests: found on the machine, or fetched once from Debian's archive.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { MissingProgram } from './missing-program.ts';

const run = promisify(execFile);

export interface Program {
  readonly path: string;
  /** Where its libraries are, when not where the system keeps them. */
  readonly libraries?: string;
}

export interface ProgramSource {
  /** Names by which it may be known, the first of the package that is installed. */
  readonly names: readonly string[];
  /** Variable of the environment that names another program. */
  readonly variable: string;
  /** Package to install. */
  readonly install: string;
  /** Unpacks the packages even for root, because their installation would start a server. */
  readonly mustUnpack?: boolean;
  /** Packages to unpack without the right to install, except the C library. Default: those that an installation would add. */
  readonly unpack?: readonly string[];
  /** Programs of those packages, seen from their `usr/bin`; the first that is there is taken. */
  readonly files: readonly string[];
}

/**
 * Returns the program, installed or fetched when it is missing.
 *
 * @throws MissingProgram where neither is possible
 */
export async function findProgram(source: ProgramSource): Promise<Program> {
  if (isLeftOut(source)) throw missing(source);
  const known = await onPath(source);
  if (known !== undefined) return { path: known };
  try {
    if (process.getuid?.() === 0 && source.mustUnpack !== true) {
      await install(source.install);
      const installed = await onPath(source);
      if (installed !== undefined) return { path: installed };
    }
    return await unpack(source);
  } catch (cause) {
    throw missing(source, { cause });
  }
}

/** Whether `TEST_MISSING_PROGRAMS`, names separated by commas or `all`, says that this run has to do without it. */
function isLeftOut({ names }: ProgramSource): boolean {
  const left = (process.env['TEST_MISSING_PROGRAMS'] ?? '').split(',');
  return left.includes('all') || names.some((name) => left.includes(name));
}

function missing({ names, install: name }: ProgramSource, options?: ErrorOptions): MissingProgram {
  return new MissingProgram(names[0]!, `apt-get install ${name}`, options);
}

async function onPath({ names, variable }: ProgramSource): Promise<string | undefined> {
  const given = process.env[variable];
  if (given !== undefined && given !== '') return given;
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), '/usr/bin', '/usr/local/bin', '/usr/sbin'];
  for (const folder of folders) {
    for (const name of names) {
      const file = path.join(folder, name);
      if (await exists(file)) return file;
    }
  }
  return undefined;
}

async function install(name: string): Promise<void> {
  const apt = (...args: string[]): Promise<unknown> => {
    const options = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'APT::Get::Assume-Yes=true'];
    return run('apt-get', [...options, ...args], { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
  };
  try {
    await apt('install', '--no-install-recommends', name);
  } catch {
    await apt('update');
    await apt('install', '--no-install-recommends', name);
  }
}

/** Without the right to install: the packages are fetched and unpacked into a cache folder. */
async function unpack({ install: name, unpack: given, files }: ProgramSource): Promise<Program> {
  const home = process.env['XDG_CACHE_HOME'] ?? path.join(process.env['HOME'] ?? tmpdir(), '.cache');
  const folder = path.join(home, 'coffer-test', name);
  if (!(await exists(folder))) {
    // Made aside and moved into place, so that test files that start together do not meet half of it.
    await mkdir(path.dirname(folder), { recursive: true });
    const draft = await mkdtemp(`${folder}-`);
    await run('apt-get', ['download', ...(given ?? (await missingPackages(name)))], { cwd: draft });
    const archives = (await readdir(draft)).filter((file) => file.endsWith('.deb'));
    for (const archive of archives) await run('dpkg', ['-x', archive, '.'], { cwd: draft });
    await rename(draft, folder).catch(() => rm(draft, { recursive: true }));
  }
  const libraries = path.join(folder, 'usr', 'lib', `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`);
  for (const file of files) {
    const program = path.join(folder, 'usr', 'bin', file);
    if (await exists(program)) return { path: program, libraries };
  }
  throw new Error(`${folder} has none of ${files.join(', ')}`);
}

/** The package and what of its dependencies this machine lacks. */
async function missingPackages(name: string): Promise<readonly string[]> {
  const options = ['-o', 'Debug::NoLocking=1', '--no-install-recommends', '--simulate'];
  const { stdout } = await run('apt-get', [...options, 'install', name]);
  return [...stdout.matchAll(/^Inst (\S+)/gm)].map(([, each = '']) => each);
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
