// A disk that is soon full: a small file system where the tests may mount one, and a limit on the size of files elsewhere.
import { execFile } from 'node:child_process';
import { mkdir, statfs, writeFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const mebibyte = 1024 * 1024;

export abstract class SmallDisk {
  /** What the log says of it. */
  abstract readonly complaint: RegExp;
  readonly folder: string;

  protected constructor(folder: string) {
    this.folder = folder;
  }

  static async create(parent: string): Promise<SmallDisk> {
    const folder = join(parent, 'small');
    await mkdir(folder);
    try {
      await run('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', folder]);
      return new Mounted(folder);
    } catch {
      return new Limited(folder);
    }
  }

  /** Leaves only little space to the process. */
  abstract fill(pid: number): Promise<void>;
  abstract makeSpace(pid: number): Promise<void>;
  /** Returns the command with as little space as on a full disk. */
  abstract whileFull(command: readonly string[]): readonly string[];
  abstract remove(): Promise<void>;
}

class Mounted extends SmallDisk {
  readonly complaint = /SQLite: the disk is full/;

  async fill(): Promise<void> {
    const { bavail, bsize } = await statfs(this.folder);
    await writeFile(join(this.folder, 'filling'), Buffer.alloc(bavail * bsize - 2 * mebibyte));
  }

  async makeSpace(): Promise<void> {
    await rm(join(this.folder, 'filling'));
  }

  whileFull(command: readonly string[]): readonly string[] {
    return command;
  }

  async remove(): Promise<void> {
    // What mapped its files may be gone a little later.
    await run('umount', ['--lazy', this.folder]);
  }
}

class Limited extends SmallDisk {
  readonly complaint = /SQLite: the disk reports an input\/output error/;

  async fill(pid: number): Promise<void> {
    await run('prlimit', ['--pid', String(pid), `--fsize=${2 * mebibyte}:`]);
  }

  async makeSpace(pid: number): Promise<void> {
    await run('prlimit', ['--pid', String(pid), '--fsize=unlimited:']);
  }

  whileFull(command: readonly string[]): readonly string[] {
    return ['prlimit', `--fsize=${2 * mebibyte}:`, ...command];
  }

  async remove(): Promise<void> {}
}
