// The profile of `coffer start` without configuration: safe, durable, and reachable from this machine only. It is the lowest
// layer, so the environment can override all of it.
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { codeOf } from '../base/system-errors.ts';
import type { Given, Layer } from './layers.ts';
import { isLoopback } from './loopback.ts';
import { SettingsError } from './problems.ts';

/** Folder of the database and the secret, below the working folder. */
export const dataFolder = 'data';

const secretFile = 'secret';

/** The profile without its secret; also the base of files from `coffer init`. */
export const profileValues: Readonly<Record<string, string>> = {
  storage_backend: 'sqlite',
  permission_backend: 'sqlite',
  cache_backend: 'memory',
  'multiauth.policies': 'basicauth',
  includes: 'default_bucket history admin operations',
  bucket_create_principals: 'system.Authenticated',
  operations_read_principals: 'system.Authenticated',
  operations_write_principals: 'system.Authenticated',
  experimental_collection_schema_validation: 'true',
  operations_backup_folder: `${dataFolder}/backups`,
  flush_endpoint_enabled: 'false',
  host: '127.0.0.1',
  // Any user name is valid in this profile, so pages of other sites must not reach the service.
  allowed_hosts: 'loopback',
  cors_origins: 'http://localhost:* http://127.0.0.1:* http://[::1]:*',
};

/** Settings of the profile that are safe only while the service is reachable from its machine alone. */
const localKeys: ReadonlySet<string> = new Set(['operations_read_principals', 'operations_write_principals']);

export interface ProfileOptions {
  /** Whether a missing secret is created on disk; otherwise a temporary one is used. Default `true`. */
  readonly keepsSecret?: boolean | undefined;
  /** Listening address that a higher layer sets. */
  readonly host?: string | undefined;
}

/** Returns the layer of the profile. Creates or reads the secret only when no higher layer sets one. */
export function profileLayer(cwd: string, { keepsSecret = true, host = '127.0.0.1' }: ProfileOptions = {}): Layer {
  const from = 'profile without configuration';
  const values = valuesFor(host);
  return {
    // Not those of a plugin: where `includes` leaves it out, they would count as misspelt.
    keys: [...Object.keys(profileValues).filter((key) => !key.startsWith('operations_')), 'userid_hmac_secret'],
    find(key): Given | undefined {
      if (key === 'userid_hmac_secret') {
        const isThere = existsSync(join(cwd, dataFolder, secretFile));
        const text = isThere || keepsSecret ? readOrCreateSecret(join(cwd, dataFolder)) : generateSecret();
        return { name: key, text, from };
      }
      const text = values.get(key);
      return text === undefined ? undefined : { name: key, text, from };
    },
  };
}

/** Returns the values of the profile that are safe for a service on the listening address. */
export function valuesFor(host: string): ReadonlyMap<string, string> {
  const isLocal = isLoopback(host);
  return new Map(Object.entries(profileValues).filter(([key]) => isLocal || !localKeys.has(key)));
}

/**
 * Returns the secret that an earlier start without configuration stored in the working folder; `undefined` for none.
 *
 * @throws SettingsError when the file cannot be read
 */
export function findKeptSecret(cwd: string): string | undefined {
  const path = resolve(cwd, dataFolder, secretFile);
  return readingSecret(path, () => readSecret(path));
}

/** Returns a new secret of 32 random bytes. */
export function generateSecret(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Returns the secret in the folder, which the first call creates. Processes that start concurrently get the same one.
 *
 * @throws SettingsError when the file can be neither read nor written
 */
export function readOrCreateSecret(folder: string): string {
  const path = resolve(folder, secretFile);
  return readingSecret(path, () => readSecret(path) ?? createSecret(folder, path));
}

function readingSecret<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    const code = codeOf(error) || 'unknown error';
    const message = `the secret cannot be stored in ${path} (${code}); set SVC_USERID_HMAC_SECRET, or start in a writable folder`;
    throw new SettingsError([{ name: 'userid_hmac_secret', message }]);
  }
}

function readSecret(path: string): string | undefined {
  let secret: string;
  try {
    secret = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  if (!/^[\w-]{32,}$/.test(secret)) {
    const message = `${path} does not contain a secret; restore the old one, or delete the file to get new user ids`;
    throw new SettingsError([{ name: 'userid_hmac_secret', message }]);
  }
  // A copy or a restored backup may be readable by others.
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  return secret;
}

function createSecret(folder: string, path: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Written to a temporary file and linked into place: the first process wins, and no process reads an incomplete secret.
  const draft = `${path}.${randomBytes(8).toString('hex')}`;
  writeFileSync(draft, `${generateSecret()}\n`, { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  const secret = readSecret(path);
  if (secret === undefined) throw new Error(`${path} disappeared during its creation`);
  return secret;
}
