// An external project in a temporary folder, with Coffer installed as it would be published.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../..');
const modules = path.join(root, 'node_modules');

/** What a command has said, and its exit code. */
export interface Said {
  readonly code: number;
  readonly text: string;
}

export class OutsideProject {
  readonly path: string;

  private constructor(folder: string) {
    this.path = folder;
  }

  /** Packs Coffer and unpacks it into the project; its dependencies are those of this checkout, so nothing is downloaded. */
  static async create(): Promise<OutsideProject> {
    const project = new OutsideProject(await mkdtemp(path.join(tmpdir(), 'coffer-outside-')));
    const installed = path.join(project.path, 'node_modules');
    await mkdir(installed, { recursive: true });
    const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', project.path], {
      cwd: root,
    });
    const [{ filename } = { filename: '' }] = JSON.parse(stdout) as { filename: string }[];
    await run('tar', ['-xzf', filename], { cwd: project.path });
    await rename(path.join(project.path, 'package'), path.join(installed, 'coffer'));
    const manifest = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    for (const name of [...Object.keys(manifest.dependencies), '@types/node']) {
      await mkdir(path.dirname(path.join(installed, name)), { recursive: true });
      await symlink(path.join(modules, name), path.join(installed, name));
    }
    return project;
  }

  /** Copies a folder of this checkout over the project. */
  async copy(folder: string): Promise<void> {
    await cp(path.join(root, folder), this.path, { recursive: true });
  }

  /** Runs Node with these arguments in the project. */
  node(...args: readonly string[]): Promise<Said> {
    return this.nodeIn(this.path, ...args);
  }

  /** Runs Node with these arguments in a folder. */
  async nodeIn(cwd: string, ...args: readonly string[]): Promise<Said> {
    const env = { PATH: process.env['PATH'] };
    try {
      const { stdout, stderr } = await run(process.execPath, args, { cwd, env });
      return { code: 0, text: stdout + stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, text: stdout + stderr };
    }
  }

  /**
   * Installs a folder in another project that has the same Coffer, as `npm install <path>` does. npm is offline, so that it
   * cannot ask a registry for anything.
   */
  async linkIn(consumer: string, folder: string): Promise<void> {
    await writeFile(path.join(consumer, 'package.json'), '{"private":true,"type":"module"}');
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', folder], { cwd: consumer });
    await symlink(path.join(this.path, 'node_modules/coffer'), path.join(consumer, 'node_modules/coffer'));
  }

  /** Checks the types of the project. */
  check(...args: readonly string[]): Promise<Said> {
    return this.node(path.join(modules, 'typescript/bin/tsc'), '--noEmit', ...args);
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}
