// Password hashes as texts: `$scrypt$ln=15,r=8,p=3$<salt>$<hash>`. They contain their cost, so old hashes stay valid when
// the cost is raised.
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

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

/** Maximum parameters of a hash that is checked: others were not created here and could take too long. */
const most = { ln: 20, r: 16, p: 16 };

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

/** Returns whether the password has the hash, or `undefined` for texts of another form. */
export async function matchesScrypt(password: string, text: string): Promise<boolean | undefined> {
  const stored = parseHash(text);
  if (stored === undefined) return undefined;
  return timingSafeEqual(await derive(password, stored, stored.hash.length), stored.hash);
}

function derive(password: string, { ln, r, p, salt }: Omit<ScryptHash, 'hash'>, length: number): Promise<Buffer> {
  const cost = 2 ** ln;
  return new Promise((resolve, reject) => {
    // Normalized, because keyboards encode the same letters differently.
    scrypt(
      password.normalize('NFC'),
      salt,
      length,
      { cost, blockSize: r, parallelization: p, maxmem: 256 * cost * r },
      (error, hash) => {
        if (error === null) resolve(hash);
        else reject(error);
      },
    );
  });
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
  const isOurs =
    parameters.ln >= 1 &&
    parameters.ln <= most.ln &&
    parameters.r >= 1 &&
    parameters.r <= most.r &&
    parameters.p >= 1 &&
    parameters.p <= most.p;
  return isOurs ? { ...parameters, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') } : undefined;
}
