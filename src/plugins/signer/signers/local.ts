// Signer with a key in a file: ECDSA on the curve P-384 with SHA-384.
import { createPrivateKey, createPublicKey, createSign, sign, verify, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { signedPrefix, type Signer } from './signer.ts';

export interface LocalKeys {
  /** File with the private key in PEM format. */
  readonly privateKey: string;
  /** File with the public key of the clients in PEM format; `undefined` skips the comparison. */
  readonly publicKey: string | undefined;
}

const sample = Buffer.from(`${signedPrefix}Sample text of a key check.`);
/** Signatures are the concatenation of r and s, as browsers expect. */
const dsaEncoding = 'ieee-p1363';

/**
 * Reads the keys and creates a signer.
 *
 * @throws Error when a key cannot be read or is not on P-384, or when the keys do not match
 */
export function createLocalSigner(files: LocalKeys): Signer {
  const key = readKey(files.privateKey, createPrivateKey);
  const publicKey =
    files.publicKey === undefined ? createPublicKey(key) : readKey(files.publicKey, (pem) => createPublicKey(pem));
  const isUsable = (): boolean =>
    verify('sha384', sample, { key: publicKey, dsaEncoding }, sign('sha384', sample, { key, dsaEncoding }));
  if (!isUsable()) {
    throw new Error(`${files.publicKey} is not the public key of ${files.privateKey}.`);
  }
  return {
    bytesPerChar: 0,
    async sign(pieces) {
      const signing = createSign('sha384').update(signedPrefix);
      for await (const piece of pieces) signing.update(piece);
      const signature = signing.sign({ key, dsaEncoding }).toString('base64url');
      return [{ signature, x5u: '', mode: 'p384ecdsa' }];
    },
    check: () => Promise.resolve(isUsable()),
  };
}

function readKey(file: string, parse: (pem: Buffer) => KeyObject): KeyObject {
  let key: KeyObject;
  try {
    key = parse(readFileSync(file));
  } catch (error) {
    throw new Error(`The key ${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'secp384r1') return key;
  throw new Error(`${file} does not contain a key on the curve P-384 (secp384r1).`);
}
