// External modules and packages, written into a temporary folder that is the working folder meanwhile.
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

export class ModuleFolder {
  readonly path: string;
  readonly #before = process.cwd();

  private constructor(folder: string) {
    this.path = folder;
  }

  /** A new working folder of this process, until it is removed. */
  static async enter(): Promise<ModuleFolder> {
    const folder = new ModuleFolder(await realpath(await mkdtemp(path.join(tmpdir(), 'coffer-modules-'))));
    process.chdir(folder.path);
    return folder;
  }

  /** Writes a file and answers with its path. */
  async write(name: string, text: string): Promise<string> {
    const file = path.join(this.path, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
    return file;
  }

  /** Installs a package with one module. */
  async install(name: string, text: string): Promise<void> {
    const manifest = { name, version: '1.0.0', type: 'module', exports: './index.js' };
    await this.write(`node_modules/${name}/package.json`, JSON.stringify(manifest));
    await this.write(`node_modules/${name}/index.js`, text);
  }

  async remove(): Promise<void> {
    process.chdir(this.#before);
    await rm(this.path, { recursive: true, force: true });
  }
}
