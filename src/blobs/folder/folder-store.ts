// Blob store in a local or shared folder. New files are spooled to a hidden subfolder and get their name by a hard
// link, which is atomic and fails if the name is taken.
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
import { codeOf, isAbsent } from '../../base/system-errors.ts';
import { blobNames, withCheckedNames } from '../../contracts/blob-names.ts';
import type { BlobEntry, BlobPlace, BlobSource, BlobStore } from '../../contracts/blobs.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';

export type FolderPlace = Extract<BlobPlace, { kind: 'folder' }>;

const setGid = 0o2000;
/** Modes of files and folders: private to the owner, or readable by the group of a shared folder. */
const privateModes = { file: 0o600, folder: 0o700 };
const sharedModes = { file: 0o640, folder: 0o750 };

/** Hidden, so that a web server does not serve it. */
const spoolFolderName = '.incoming';

/**
 * Opens the folder. A missing folder is created on first use. A folder that disappears later, such as an unmounted disk, is
 * not recreated.
 *
 * @throws Error when the folder cannot be used
 */
export async function openFolderStore({ path, isReadonly = false }: FolderPlace): Promise<BlobStore> {
  const { root, isMissing } = await findRoot(resolve(path), isReadonly);
  const store: Folder = { root, isMissing };
  return withCheckedNames({
    spoolFolder: () => translateErrors(() => prepareSpool(store)),
    access: { kind: 'folder', root, has: (name) => translateErrors(() => isFile(store, name)) },
    put: (name, source) => translateErrors(() => put(store, name, source)),
    delete: (name) => translateErrors(() => remove(store, name)),
    deleteOlder: (name, before) => translateErrors(() => removeOlder(store, name, before)),
    list: () => list(store),
    check: () => translateErrors(() => check(store)),
    close: () => Promise.resolve(),
  });
}

interface Folder {
  readonly root: string;
  /** Whether the folder has never existed so far. */
  isMissing: boolean;
}

/** Resolves symbolic links in the existing part of the path. */
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

/** Returns the modes. The setgid bit of the folder lets its group, such as that of a web server, read its content. */
async function modesIn({ root }: Folder): Promise<typeof privateModes> {
  return ((await stat(root)).mode & setGid) === 0 ? privateModes : sharedModes;
}

async function prepareSpool(store: Folder): Promise<string> {
  await prepare(store);
  const folder = join(store.root, spoolFolderName);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

async function put(store: Folder, name: string, { path }: BlobSource): Promise<string> {
  await prepare(store);
  const modes = await modesIn(store);
  await makeParent(store, name, modes.folder);
  await chmod(path, modes.file);
  await flush(path);
  for (const candidate of blobNames(name)) {
    if (await linkAs(path, join(store.root, candidate))) {
      await flushParents(store, candidate);
      return candidate;
    }
  }
  throw new BackendUnavailable('attachments', 'the attachment folder has files under all names that were tried');
}

/** Creates the folder of a file, and refuses symbolic links that lead out of the store. */
async function makeParent({ root }: Folder, name: string, mode: number): Promise<void> {
  const parent = dirname(join(root, name));
  await mkdir(parent, { recursive: true, mode });
  if (!isInside(root, await realpath(parent))) throw new Error(`${parent} is outside of the attachment folder.`);
}

/** Gives the file its name. Returns `false` if the name is taken. */
async function linkAs(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') return false;
    if (!unsupportedLinkCodes.includes(code)) throw error;
  }
  // The file system has no hard links, or is a different one. A copy is safe, because no record names it before it is
  // complete.
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

const unsupportedLinkCodes: readonly string[] = ['EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

async function remove({ root }: Folder, name: string): Promise<void> {
  const path = join(root, name);
  try {
    if (isInside(root, await realpath(dirname(path)))) await rm(path, { force: true });
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}

async function removeOlder(store: Folder, name: string, before: number): Promise<boolean> {
  const found = await lstatOrNothing(join(store.root, name));
  if (found === undefined || found.mtimeMs >= before) return false;
  await remove(store, name);
  return true;
}

async function isFile({ root }: Folder, name: string): Promise<boolean> {
  try {
    const real = await realpath(join(root, name));
    return isInside(root, real) && (await stat(real)).isFile();
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

/** Yields all files. Links are skipped, because the store creates none. */
async function* list(store: Folder, folder: string = store.root): AsyncGenerator<BlobEntry> {
  if (store.isMissing) return;
  const { root } = store;
  const entries = await translateErrors(() => readdir(folder, { withFileTypes: true }));
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
    // The file was deleted after the folder was read.
    if (isAbsent(error)) return undefined;
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

/** Flushes a file or a directory to the disk. */
async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } catch (error) {
    // Some systems do not support this for directories.
    if (!['EINVAL', 'EPERM', 'EISDIR', 'ENOTSUP'].includes(codeOf(error))) throw error;
  } finally {
    await handle.close();
  }
}

/** Flushes all directories up to the root, because each may be new. */
async function flushParents({ root }: Folder, name: string): Promise<void> {
  for (let folder = dirname(join(root, name)); isInside(root, folder); folder = dirname(folder)) {
    await flush(folder);
    if (folder === root) return;
  }
}

/** Converts errors of the file system, such as a full disk, into `BackendUnavailable`. */
async function translateErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) === '') throw error;
    throw new BackendUnavailable('attachments', 'the attachment folder cannot be used', { cause: error });
  }
}
