// The browser for tests: found on the machine, or fetched once from Debian's archive, installed or, without the right to,
// unpacked into a cache folder. TEST_CHROMIUM_BINARY names another one.
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

export interface Program {
  readonly path: string;
  /** What it needs to find its libraries and fonts, when they are not where the system keeps them. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The browser, installed when it is missing. */
export async function findChromium(): Promise<Program> {
  const known = await onPath();
  if (known !== undefined) return { path: known, environment: {} };
  if (process.getuid?.() === 0) {
    await install();
    const installed = await onPath();
    if (installed !== undefined) return { path: installed, environment: {} };
  }
  return unpack();
}

async function onPath(): Promise<string | undefined> {
  const given = process.env['TEST_CHROMIUM_BINARY'];
  if (given !== undefined && given !== '') return given;
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), '/usr/bin'];
  for (const folder of folders) {
    for (const name of names) {
      const file = path.join(folder, name);
      if (await exists(file)) return file;
    }
  }
  return undefined;
}

async function install(): Promise<void> {
  const apt = (...args: string[]): Promise<unknown> => {
    const options = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'APT::Get::Assume-Yes=true'];
    return run('apt-get', [...options, ...args], { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
  };
  try {
    await apt('install', '--no-install-recommends', 'chromium');
  } catch {
    await apt('update');
    await apt('install', '--no-install-recommends', 'chromium');
  }
}

async function unpack(): Promise<Program> {
  const home = process.env['XDG_CACHE_HOME'] ?? path.join(process.env['HOME'] ?? tmpdir(), '.cache');
  const folder = path.join(home, 'coffer-test', 'chromium');
  if (!(await exists(folder))) {
    // Made aside and moved into place, so that test runs that start together do not meet half of it.
    await mkdir(path.dirname(folder), { recursive: true });
    const draft = await mkdtemp(`${folder}-`);
    await run('apt-get', ['download', ...(await missingPackages())], { cwd: draft });
    const archives = (await readdir(draft)).filter((name) => name.endsWith('.deb'));
    for (const archive of archives) {
      await run('dpkg', ['-x', archive, '.'], { cwd: draft });
      await rm(path.join(draft, archive));
    }
    await rename(draft, folder).catch(() => rm(draft, { recursive: true }));
  }
  const libraries = path.join(folder, 'usr', 'lib', `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`);
  return {
    path: path.join(folder, 'usr', 'lib', 'chromium', 'chromium'),
    // Some keep libraries in folders of their own, which the system would know.
    environment: {
      LD_LIBRARY_PATH: [libraries, path.join(libraries, 'pulseaudio')].join(path.delimiter),
      FONTCONFIG_PATH: path.join(folder, 'etc', 'fonts'),
    },
  };
}

/** The package and what of its dependencies this machine lacks, as an installation would choose them. */
async function missingPackages(): Promise<readonly string[]> {
  const options = ['-o', 'Debug::NoLocking=1', '--no-install-recommends', '--simulate'];
  const { stdout } = await run('apt-get', [...options, 'install', 'chromium']);
  return [...stdout.matchAll(/^Inst (\S+)/gm)].map(([, name = '']) => name);
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
