// Builds an image without an engine: every stage is a folder, and the instructions of the Dockerfile are done in it.
import { execFile } from 'node:child_process';
import { chmod, copyFile, cp, mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { listContext } from '../support/docker-ignore.ts';
import { findExecForm, parseDockerfile, parsePairs, type Instruction, type Stage } from '../support/dockerfile.ts';

const run = promisify(execFile);

export const isRoot = process.getuid?.() === 0;

export interface Image {
  /** Folder that stands for `/`. */
  readonly root: string;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly volumes: readonly string[];
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
}

export interface BuildOptions {
  readonly dockerfile: string;
  /** Folder that `COPY` copies from. */
  readonly context: string;
  /** Where the folders of the stages are made. */
  readonly target: string;
}

/** Copies the files that the ignore file accepts, readable only by their owner, as in a careful checkout. */
export async function copyContext(from: string, dockerignore: string, to: string): Promise<void> {
  for (const name of listContext(from, dockerignore)) {
    const file = path.join(to, name);
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    await copyFile(path.join(from, name), file);
    await chmod(file, 0o600);
  }
}

/** Follows the instructions; stages that do not need each other are built at the same time. */
export async function buildImage({ dockerfile, context, target }: BuildOptions): Promise<Image> {
  const built = new Map<string, Promise<StageBuild>>();
  let last: Promise<StageBuild> | undefined;
  for (const stage of parseDockerfile(dockerfile)) {
    const earlier = new Map(built);
    const folderOf = async (name: string | undefined): Promise<string> => {
      if (name === undefined) return context;
      const found = earlier.get(name);
      if (found === undefined) throw new Error(`there is no earlier stage ${name}`);
      return (await found).root;
    };
    last = new StageBuild(path.join(target, stage.name), folderOf).build(stage);
    // Waited for together below.
    last.catch(() => undefined);
    built.set(stage.name, last);
  }
  await Promise.all(built.values());
  if (last === undefined) throw new Error('there is no stage');
  return (await last).image();
}

class StageBuild {
  readonly root: string;
  readonly #folderOf: (stage: string | undefined) => Promise<string>;
  readonly #environment = new Map<string, string>();
  readonly #texts = new Map<string, string>();
  #folder = '/';

  constructor(root: string, folderOf: (stage: string | undefined) => Promise<string>) {
    this.root = root;
    this.#folderOf = folderOf;
  }

  async build(stage: Stage): Promise<this> {
    await mkdir(this.root, { recursive: true });
    for (const instruction of stage.instructions) await this.#follow(instruction);
    return this;
  }

  image(): Image {
    const [uid, gid] = this.#text('USER').split(':').map(Number);
    if (!uid || !gid) throw new Error('the user is not given by numbers other than 0');
    return {
      root: this.root,
      folder: this.#folder,
      environment: Object.fromEntries(this.#environment),
      user: { uid, gid },
      volumes: this.#list('VOLUME'),
      entrypoint: this.#list('ENTRYPOINT'),
      command: this.#list('CMD'),
      healthCheck: this.#list('HEALTHCHECK'),
    };
  }

  async #follow({ keyword, flags, text }: Instruction): Promise<void> {
    switch (keyword) {
      case 'WORKDIR':
        this.#folder = path.posix.resolve(this.#folder, text);
        await mkdir(this.#inside('.'), { recursive: true });
        return;
      case 'COPY':
        return this.#copy(text.split(' '), await this.#folderOf(flags.get('from')));
      case 'RUN':
        return this.#run(text);
      case 'ENV':
        for (const [name, value] of parsePairs(text)) this.#environment.set(name, value);
        return;
      case 'LABEL':
      case 'EXPOSE':
        return;
      case 'HEALTHCHECK':
        this.#texts.set(keyword, text.replace(/^CMD /, ''));
        return;
      case 'USER':
      case 'VOLUME':
      case 'ENTRYPOINT':
      case 'CMD':
        this.#texts.set(keyword, text);
        return;
      default:
        throw new Error(`this test does not support the instruction ${keyword}`);
    }
  }

  async #copy(names: readonly string[], from: string): Promise<void> {
    const to = names.at(-1) ?? '';
    for (const name of names.slice(0, -1)) {
      const source = path.join(from, name);
      const isFolder = (await stat(source)).isDirectory();
      // A folder is copied with its contents, a file into a folder that ends with a slash.
      const target = !isFolder && to.endsWith('/') ? path.join(to, path.basename(name)) : to;
      await cp(source, this.#inside(target), { recursive: true, verbatimSymlinks: true });
    }
  }

  async #run(text: string): Promise<void> {
    // Giving files away takes root; without it everything belongs to the one user that there is.
    if (!isRoot && text.startsWith('chown ')) return;
    const { NODE_ENV: _, VITEST: __, ...environment } = process.env;
    const quick = { npm_config_prefer_offline: 'true', npm_config_update_notifier: 'false' };
    try {
      await run('sh', ['-c', text], {
        cwd: this.#inside('.'),
        env: { ...environment, ...quick, ...Object.fromEntries(this.#environment) },
        maxBuffer: 16 * 1024 * 1024,
      });
    } catch (error) {
      const output =
        error instanceof Error && 'stdout' in error && 'stderr' in error ? [error.stdout, error.stderr] : [];
      throw new Error(`RUN ${text} failed:\n${output.join('\n')}`, { cause: error });
    }
  }

  /** Where a path of the image is. */
  #inside(name: string): string {
    return path.join(this.root, path.posix.resolve(this.#folder, name));
  }

  #list(keyword: string): readonly string[] {
    const list = findExecForm(this.#text(keyword));
    if (list === undefined) throw new Error(`${keyword} is not a list`);
    return list;
  }

  #text(keyword: string): string {
    return this.#texts.get(keyword) ?? '';
  }
}
