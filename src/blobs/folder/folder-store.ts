// Files in a folder of this machine, or of one that several machines share. New files are collected in a hidden folder
// inside it and get their name by a hard link. The link fails when the name is taken, and readers see the whole file or
// none.
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import {
  access,
  chmod,
  copyFile,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import {
  blobNames,
  requireBlobName,
  type BlobEntry,
  type BlobPlace,
  type BlobSource,
  type BlobStore,
} from '../../contracts/blobs.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';

export type FolderPlace = Extract<BlobPlace, { kind: 'folder' }>;

const setGid = 0o2000;
/** Modes of files and folders: for the owner alone, and in a folder that is shared with its group. */
const privateModes = { file: 0o600, folder: 0o700 };
const sharedModes = { file: 0o640, folder: 0o750 };

/** Hidden, so that a web server that serves the folder ignores it. */
const spoolName = '.incoming';

/**
 * Opens the folder. A missing folder is created when it is first needed. A folder that disappears later, such as an
 * unmounted disk, is not created again.
 *
 * @throws Error when it cannot be used
 */
export async function openFolderStore({ path, isReadonly = false }: FolderPlace): Promise<BlobStore> {
  const { root, isMissing } = await findRoot(resolve(path), isReadonly);
  const store: Folder = { root, isMissing };
  return {
    spoolFolder: () => guard(() => prepareSpool(store)),
    access: { kind: 'folder', root, has: (name) => guard(() => isFile(store, name)) },
    put: (name, source) => guard(() => put(store, name, source)),
    delete: (name) => guard(() => remove(store, name)),
    list: () => list(store),
    check: () => guard(() => check(store)),
    close: () => Promise.resolve(),
  };
}

interface Folder {
  readonly root: string;
  /** Whether the folder was missing so far. */
  isMissing: boolean;
}

/** Returns the folder with symbolic links resolved, as far as it exists. */
async function findRoot(path: string, isReadonly: boolean): Promise<Folder> {
  try {
    const root = await realpath(path);
    if (!(await stat(root)).isDirectory()) throw new Error(`${path} is not a folder.`);
    if (!isReadonly) await access(root, constants.W_OK | constants.X_OK);
    return { root, isMissing: false };
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || isReadonly || dirname(path) === path) throw error;
  }
  const { root } = await findRoot(dirname(path), isReadonly);
  return { root: join(root, basename(path)), isMissing: true };
}

async function prepare(store: Folder): Promise<void> {
  if (store.isMissing) await mkdir(store.root, { recursive: true, mode: privateModes.folder });
  else await stat(store.root);
  store.isMissing = false;
}

/** Returns the modes of new files. The setgid bit of the folder lets its group, such as that of a web server, read them. */
async function modesIn({ root }: Folder): Promise<typeof privateModes> {
  return ((await stat(root)).mode & setGid) === 0 ? privateModes : sharedModes;
}

async function prepareSpool(store: Folder): Promise<string> {
  await prepare(store);
  const folder = join(store.root, spoolName);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

async function put(store: Folder, name: string, { path }: BlobSource): Promise<string> {
  requireBlobName(name);
  await prepare(store);
  const modes = await modesIn(store);
  await makeParent(store, name, modes.folder);
  await chmod(path, modes.file);
  await flush(path);
  for (const candidate of blobNames(name)) {
    if (await place(path, join(store.root, candidate))) {
      await flushParents(store, candidate);
      return candidate;
    }
  }
  throw new Error('unreachable: names are unlimited');
}

/** Creates the folder of a file, and verifies that no symbolic link in its path leads out of the store. */
async function makeParent({ root }: Folder, name: string, mode: number): Promise<void> {
  const parent = dirname(join(root, name));
  await mkdir(parent, { recursive: true, mode });
  if (!isInside(root, await realpath(parent))) throw new Error(`${parent} is outside of the folder of attachments`);
}

/** Gives the file its name; returns `false` when the name is taken. */
async function place(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') return false;
    if (!withoutLinks.includes(code)) throw error;
  }
  // The file system has no hard links, or the file is on another one. The name is unknown to readers until it is complete.
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    await rm(to, { force: true });
    throw error;
  }
  await flush(to);
  return true;
}

const withoutLinks: readonly string[] = ['EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

async function remove({ root }: Folder, name: string): Promise<void> {
  const path = resolve(root, name);
  if (path === root || !isInside(root, path) || name.includes('\0')) throw new Error(`${name} is not in the store`);
  try {
    if (isInside(root, await realpath(dirname(path)))) await rm(path, { force: true });
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

async function isFile({ root }: Folder, name: string): Promise<boolean> {
  if (!isInside(root, resolve(root, name)) || name.includes('\0')) return false;
  try {
    const real = await realpath(join(root, name));
    return isInside(root, real) && (await stat(real)).isFile();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP'].includes(codeOf(error))) return false;
    throw error;
  }
}

/** Lists files. Links are neither followed nor listed, because the store creates none. */
async function* list(store: Folder, folder: string = store.root): AsyncGenerator<BlobEntry> {
  if (store.isMissing) return;
  const { root } = store;
  const entries = await guard(() => readdir(folder, { withFileTypes: true }));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* list(store, path);
    if (!entry.isFile()) continue;
    const found = await lstatOrNothing(path);
    if (found === undefined) continue;
    const name = relative(root, path).split(sep).join('/');
    yield { name, sizeBytes: found.size, lastModified: Math.floor(found.mtimeMs) };
  }
}

async function lstatOrNothing(path: string): Promise<{ readonly size: number; readonly mtimeMs: number } | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    // Deleted since its folder was read.
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function check(store: Folder): Promise<void> {
  const path = join(await prepareSpool(store), `check-${randomUUID()}`);
  try {
    await writeFile(path, 'alive', { flag: 'wx' });
  } finally {
    await rm(path, { force: true });
  }
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** Flushes a file, or the names in a folder, to disk, so that it survives a loss of power. */
async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } catch (error) {
    // Some systems cannot flush folders.
    if (!['EINVAL', 'EPERM', 'EISDIR', 'ENOTSUP'].includes(codeOf(error))) throw error;
  } finally {
    await handle.close();
  }
}

/** Flushes the folders up to the root, because each of them may be new. */
async function flushParents({ root }: Folder, name: string): Promise<void> {
  for (let folder = dirname(join(root, name)); isInside(root, folder); folder = dirname(folder)) {
    await flush(folder);
    if (folder === root) return;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Runs the work, and turns errors of the system (disk full, no permission) into BackendUnavailable. */
async function guard<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) === '') throw error;
    throw new BackendUnavailable('attachments', 'the folder of attachments cannot be used', { cause: error });
  }
}
