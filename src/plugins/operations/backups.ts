// `/operations/backups`: lists and makes copies of the database, where the backend can copy itself while it is used. One copy
// at a time, in a folder of its own, of which only the newest are kept.
import { chmod, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { codeOf } from '../../base/system-errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/message-of.ts';
import type { Logger } from '../../contracts/logger.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Context } from '../../engine/context.ts';
import { objectWith, type OperationDescription } from '../../engine/description.ts';
import { forReading, type Endpoint } from '../../engine/endpoint.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';
import { readPlainParameters } from '../../engine/plain-parameters.ts';
import type { Stores } from '../../engine/unit-of-work.ts';

export interface BackupOptions {
  readonly stores: Stores;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Folder of the backups; `undefined`: none can be made. */
  readonly folder: string | undefined;
  /** Number of backups that are kept. */
  readonly keep: number;
}

interface Backup {
  readonly name: string;
  readonly created: number;
  readonly sizeBytes: number;
}

/** Names of backups, with the time of their beginning: they sort by age, and other files are left alone. */
const namePattern = /^coffer-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z\.sqlite3$/;
const partialPattern = /^coffer-\d{8}T\d{9}Z\.sqlite3\.partial(?:-journal)?$/;
/** Maximum number of backups in an answer; the folder can have more if fewer are kept than before. */
const maxListed = 1000;
const folderMode = 0o700;

export class Backups {
  readonly #options: BackupOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #error: string | undefined;

  constructor(options: BackupOptions) {
    this.#options = options;
  }

  /** Why no backups can be made, and what to do instead; `undefined` when they can be made. */
  get advice(): string | undefined {
    const { stores, folder } = this.#options;
    const { storage, permission } = stores;
    if (storage.database.copyTo === undefined) {
      return `The backend ${storage.database.name} is backed up with tools of its own, or with \`coffer export <file>\`.`;
    }
    if (storage.database !== permission.database) {
      return 'Storage and permissions are in different databases. Use `coffer export <file>`.';
    }
    return folder === undefined ? 'Set operations_backup_folder to a folder for the backups.' : undefined;
  }

  get state(): JsonObject {
    const { advice } = this;
    return {
      is_available: advice === undefined,
      is_running: this.#running !== undefined,
      error: this.#error ?? null,
      advice: advice ?? null,
    };
  }

  /** Starts a backup. Its result becomes part of the state. */
  start(): 'started' | 'running' {
    if (this.#running !== undefined) return 'running';
    this.#error = undefined;
    this.#running = this.#make().finally(() => {
      this.#running = undefined;
    });
    return 'started';
  }

  /** Ends a running backup. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Returns the backups, newest first. A folder that cannot be read has none, and the state has the reason. */
  async list(): Promise<readonly Backup[]> {
    const { folder } = this.#options;
    if (folder === undefined) return [];
    try {
      const names = (await readNames(folder)).filter((name) => namePattern.test(name)).toSorted();
      const found = names.toReversed().slice(0, maxListed);
      const backups = await Promise.all(found.map((name) => describeBackup(folder, name)));
      return backups.filter((backup) => backup !== undefined);
    } catch (error) {
      this.#error ??= messageOf(error);
      return [];
    }
  }

  async #make(): Promise<void> {
    const { stores, clock, logger } = this.#options;
    const folder = resolve(this.#options.folder ?? '');
    const name = `coffer-${new Date(clock.now()).toISOString().replaceAll(/[-:.]/g, '')}.sqlite3`;
    const path = join(folder, name);
    const partial = `${path}.partial`;
    try {
      await mkdir(folder, { recursive: true, mode: folderMode });
      // Of a process that died during a copy.
      await removeAll(folder, (other) => partialPattern.test(other));
      await stores.storage.database.copyTo?.(partial, this.#stop.signal);
      await chmod(partial, 0o600);
      await flushFile(partial);
      await rename(partial, path);
      await this.#removeOld(folder, name);
      logger.info({ backup: name }, 'A backup was made');
    } catch (error) {
      this.#error = messageOf(error);
      logger.error({ err: error, backup: name }, 'A backup failed');
      await removeAll(folder, (other) => partialPattern.test(other)).catch(() => undefined);
    }
  }

  /**
   * Removes old backups. Those with a later name than the newest are of a wrong clock, then or now. They are neither counted nor
   * removed, because their age is not known.
   */
  async #removeOld(folder: string, newest: string): Promise<void> {
    const { keep, logger } = this.#options;
    const others = (await readNames(folder)).filter((other) => namePattern.test(other) && other !== newest).toSorted();
    const older = others.filter((other) => other < newest);
    const dropped = new Set(older.slice(0, Math.max(0, older.length - (keep - 1))));
    await removeAll(folder, (other) => dropped.has(other));
    const later = others.slice(older.length);
    if (later.length === 0) return;
    logger.warn(
      { backups: later },
      'Backups have names in the future, and are not removed: the clock was wrong, or is now',
    );
  }
}

/** Returns the names in a folder; none when it does not exist. */
async function readNames(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

async function removeAll(folder: string, isRemoved: (name: string) => boolean): Promise<void> {
  for (const name of await readNames(folder)) if (isRemoved(name)) await rm(join(folder, name), { force: true });
}

async function flushFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Returns a backup; `undefined` if it was removed meanwhile. */
async function describeBackup(folder: string, name: string): Promise<Backup | undefined> {
  const found = await stat(join(folder, name)).catch(() => undefined);
  if (found === undefined) return undefined;
  const iso = name.replace(namePattern, '$1-$2-$3T$4:$5:$6.$7Z');
  return { name, created: Date.parse(iso), sizeBytes: found.size };
}

/** Returns the endpoint, without a check of access. */
export function backupEndpoint(backups: Backups): Endpoint {
  return {
    name: 'operations-backups',
    tag: 'operations',
    path: '/operations/backups',
    isResource: false,
    operations: {
      ...forReading('get_backups', {
        describe: describeList,
        async handle(context: Context): Promise<ServiceResponse> {
          readPlainParameters(context, {});
          const all = await backups.list();
          const data = all.map(({ name, created, sizeBytes }) => ({ name, created, size_bytes: sizeBytes }));
          return jsonResponse(200, { data, state: backups.state });
        },
      }),
      POST: {
        id: 'create_backup',
        describe: describeStart,
        handle(context) {
          readPlainParameters(context, {});
          const { advice } = backups;
          if (advice !== undefined) throw new ServiceError('constraintViolated', { message: advice });
          if (backups.start() === 'running') {
            throw new ServiceError('constraintViolated', { message: 'A backup is being made. Wait for its end.' });
          }
          return Promise.resolve(jsonResponse(202, { state: backups.state }));
        },
      },
    },
  };
}

const stateSchema = objectWith({
  is_available: { type: 'boolean' },
  is_running: { type: 'boolean' },
  error: { type: ['string', 'null'] },
  advice: { type: ['string', 'null'] },
});

function describeList(): OperationDescription {
  const items = objectWith({ name: { type: 'string' }, created: { type: 'integer' }, size_bytes: { type: 'integer' } });
  const schema = objectWith({ data: { type: 'array', items }, state: stateSchema });
  return {
    summary: 'Returns the backups, newest first.',
    responses: { 200: { description: 'The backups.', schema } },
  };
}

function describeStart(): OperationDescription {
  const schema = objectWith({ state: stateSchema });
  return {
    summary: 'Starts a backup of the database.',
    responses: { 202: { description: 'The backup has begun.', schema } },
    errors: [409],
  };
}
