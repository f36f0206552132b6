// Password hashes as texts: `$scrypt$ln=15,r=8,p=3$<salt>$<hash>`. They contain their cost, so old hashes stay valid when
// the cost is raised.
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { limitMarks } from '../../core/text/marks.ts';

interface ScryptHash {
  /** log2 of the cost. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

const saltBytes = 16;
const hashBytes = 32;
const blockSize = 8;
const parallelism = 3;

/** Maximum log2 of the cost of new hashes: 256 MiB and about two seconds. */
export const maxHashCost = 18;

/**
 * Maximum memory and time of a check, which imported hashes could make very high: those of a new hash at the maximum cost.
 * So every hash made here can be checked, also after the cost was lowered.
 */
const most = { memory: 2 ** maxHashCost * blockSize, work: 2 ** maxHashCost * blockSize * parallelism };

const form = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{8,88})\$([A-Za-z0-9+/]{22,88})$/;

/** Hashes a password with a new salt. */
export async function hashWithScrypt(password: string, ln: number): Promise<string> {
  const parameters = { ln, r: blockSize, p: parallelism, salt: randomBytes(saltBytes) };
  return formatHash({ ...parameters, hash: await derive(password, parameters, hashBytes) });
}

/** Creates a hash that no password matches, with the usual cost of a check. */
export function unmatchableHash(ln: number): string {
  return formatHash({
    ln,
    r: blockSize,
    p: parallelism,
    salt: randomBytes(saltBytes),
    hash: randomBytes(hashBytes),
  });
}

/** Returns whether the password has the hash, or `undefined` for texts of another form or a higher cost. */
export async function matchesScrypt(password: string, text: string): Promise<boolean | undefined> {
  const stored = parseHash(text);
  if (stored === undefined) return undefined;
  return timingSafeEqual(await derive(password, stored, stored.hash.length), stored.hash);
}

function derive(password: string, { ln, r, p, salt }: Omit<ScryptHash, 'hash'>, length: number): Promise<Buffer> {
  const cost = 2 ** ln;
  return new Promise((resolve, reject) => {
    scrypt(
      normalizePassword(password),
      salt,
      length,
      { cost, blockSize: r, parallelization: p, maxmem: 256 * r * (cost + p + 2) },
      (error, hash) => {
        if (error === null) resolve(hash);
        else reject(error);
      },
    );
  });
}

/**
 * Normalizes a password, because keyboards encode the same letters differently. One with more marks in a row than texts have
 * stays: to drop some of them would make different passwords equal.
 */
function normalizePassword(password: string): string {
  return limitMarks(password) === password ? password.normalize('NFC') : password;
}

function formatHash({ ln, r, p, salt, hash }: ScryptHash): string {
  return `$scrypt$ln=${ln},r=${r},p=${p}$${unpadded(salt)}$${unpadded(hash)}`;
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}

function parseHash(text: string): ScryptHash | undefined {
  const [, ln, r, p, salt = '', hash = ''] = form.exec(text) ?? [];
  const parameters = { ln: Number(ln), r: Number(r), p: Number(p) };
  if (!isAffordable(parameters)) return undefined;
  return { ...parameters, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') };
}

/** Returns whether the parameters are valid (RFC 7914, section 2) and within the limits; not for `NaN`. */
function isAffordable({ ln, r, p }: Pick<ScryptHash, 'ln' | 'r' | 'p'>): boolean {
  const isValid = ln >= 1 && p >= 1 && ln < 16 * r;
  return isValid && 2 ** ln * r <= most.memory && 2 ** ln * r * p <= most.work;
}
