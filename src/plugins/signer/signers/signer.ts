// The contract of signing backends.
import type { JsonObject } from '../../../base/json.ts';

/** A signature as stored in the attributes of a collection: `signature`, `x5u`, `mode`, and members a server adds. */
export interface Signature extends JsonObject {
  /** URL-safe base64. */
  readonly signature: string;
  /** URL of the certificates that verify it; empty when clients know the key. */
  readonly x5u: string;
  readonly mode: string;
}

export interface Signer {
  /**
   * Signs a text, as `Content-Signature:`, a null character and the text.
   *
   * @returns at least one signature
   * @throws BackendUnavailable when the backend fails
   */
  readonly sign: (text: string) => Promise<readonly [Signature, ...Signature[]]>;
  /** Returns whether it can sign now. */
  readonly check: () => Promise<boolean>;
}

/** Returns the signed bytes. The prefix prevents reuse of a signature for another purpose. */
export function signedBytes(text: string): Buffer {
  return Buffer.from(`Content-Signature:\u0000${text}`, 'utf8');
}
