// Signing with a key of one's own: ECDSA on the curve P-384 with SHA-384, the key in a file.
import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { signedBytes, type Signer } from './signer.ts';

export interface LocalKeys {
  /** File with the private key, PEM. */
  readonly privateKey: string;
  /** File with the public key that clients know, PEM; `undefined`: not compared. */
  readonly publicKey: string | undefined;
}

const sample = 'A sample to try the keys with.';
/** Signatures are the two numbers one after the other, as browsers expect them. */
const dsaEncoding = 'ieee-p1363';

/**
 * A signer with keys of files, which are read now.
 *
 * @throws Error when they cannot be read, are no keys on P-384, or do not belong together
 */
export function createLocalSigner(files: LocalKeys): Signer {
  const key = readKey(files.privateKey, createPrivateKey);
  const publicKey =
    files.publicKey === undefined ? createPublicKey(key) : readKey(files.publicKey, (pem) => createPublicKey(pem));
  const fits = (signature: Buffer): boolean =>
    verify('sha384', signedBytes(sample), { key: publicKey, dsaEncoding }, signature);
  if (!fits(sign('sha384', signedBytes(sample), { key, dsaEncoding }))) {
    throw new Error(`${files.publicKey} is not the public key of ${files.privateKey}.`);
  }
  return {
    async sign(text) {
      const signature = (await signInThreadPool(signedBytes(text), key)).toString('base64url');
      return [{ signature, x5u: '', mode: 'p384ecdsa' }];
    },
    check: async () => fits(await signInThreadPool(signedBytes(sample), key)),
  };
}

/** In a thread, as there may be megabytes to sign. */
function signInThreadPool(bytes: Buffer, key: KeyObject): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    sign('sha384', bytes, { key, dsaEncoding }, (error, signature) => {
      if (error === null) resolve(signature);
      else reject(error);
    });
  });
}

function readKey(file: string, parse: (pem: Buffer) => KeyObject): KeyObject {
  let key: KeyObject;
  try {
    key = parse(readFileSync(file));
  } catch (error) {
    throw new Error(`The key ${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'secp384r1') return key;
  throw new Error(`${file} holds no key on the curve P-384 (secp384r1).`);
}
