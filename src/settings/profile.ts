// What `coffer start` runs with when there is no configuration: safe, durable, and reachable from this machine only.
// It is the lowest layer, so that the environment can change any of it.
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { Given, Layer } from './layers.ts';
import { SettingsError } from './problems.ts';

/** Folder, below the working folder, that holds the database and the secret. */
export const dataFolder = 'data';

const secretFile = 'secret';

/** The profile without its secret; also what the file of `coffer init` begins with. */
export const profileValues: Readonly<Record<string, string>> = {
  storage_backend: 'sqlite',
  permission_backend: 'sqlite',
  cache_backend: 'memory',
  'multiauth.policies': 'basicauth',
  includes: 'default_bucket history admin',
  bucket_create_principals: 'system.Authenticated',
  flush_endpoint_enabled: 'false',
  host: '127.0.0.1',
  // Any user name is a user here: pages of other sites must not be able to use the service as one.
  allowed_hosts: 'loopback',
  cors_origins: 'http://localhost:* http://127.0.0.1:* http://[::1]:*',
};

/**
 * The profile as a layer. The secret is made, or read again, only when nothing above gives one.
 *
 * @param options.keepsSecret `false`: a secret that is not there yet is made up and forgotten, and no file written
 */
export function profileLayer(cwd: string, { keepsSecret = true }: { readonly keepsSecret?: boolean } = {}): Layer {
  const from = 'profile without configuration';
  return {
    keys: [...Object.keys(profileValues), 'userid_hmac_secret'],
    find(key): Given | undefined {
      if (key === 'userid_hmac_secret') {
        const isThere = existsSync(join(cwd, dataFolder, secretFile));
        const text = isThere || keepsSecret ? readOrCreateSecret(join(cwd, dataFolder)) : generateSecret();
        return { name: key, text, from };
      }
      return Object.hasOwn(profileValues, key) ? { name: key, text: profileValues[key]!, from } : undefined;
    },
  };
}

/**
 * Returns the secret that starts without configuration have kept in the working folder; `undefined`: there is none.
 *
 * @throws SettingsError when it cannot be read
 */
export function findKeptSecret(cwd: string): string | undefined {
  const path = resolve(cwd, dataFolder, secretFile);
  return readingSecret(path, () => readSecret(path));
}

/** A new secret of 32 random bytes. */
export function generateSecret(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * The secret kept in the folder, made at the first call. Of processes that start together all get the same one.
 *
 * @throws SettingsError when it can be neither read nor written
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
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    const message = `the secret cannot be kept in ${path} (${code}); set SVC_USERID_HMAC_SECRET, or start in a folder that can be written`;
    throw new SettingsError([{ name: 'userid_hmac_secret', message }]);
  }
}

function readSecret(path: string): string | undefined {
  let secret: string;
  try {
    secret = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  if (!/^[\w-]{32,}$/.test(secret)) {
    const message = `${path} does not hold a secret; put the old one back, or delete the file to get new user ids`;
    throw new SettingsError([{ name: 'userid_hmac_secret', message }]);
  }
  // A copy or a backup may have opened it to others.
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  return secret;
}

function createSecret(folder: string, path: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Written aside and linked into place: whoever comes first wins, and nobody ever sees half a secret.
  const draft = `${path}.${randomBytes(8).toString('hex')}`;
  writeFileSync(draft, `${generateSecret()}\n`, { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  const secret = readSecret(path);
  if (secret === undefined) throw new Error(`${path} vanished while it was made`);
  return secret;
}
