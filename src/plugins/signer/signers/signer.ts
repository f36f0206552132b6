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
  /** Memory that signing takes for each character of the text, in bytes; 0 when no more than one piece is kept. */
  readonly bytesPerChar: number;
  /**
   * Signs a text, as `Content-Signature:`, a null character and the text.
   *
   * @param pieces the text, in pieces of whole characters
   * @returns at least one signature
   * @throws BackendUnavailable when the backend fails; the error of the pieces
   */
  readonly sign: (pieces: AsyncIterable<string> | Iterable<string>) => Promise<readonly [Signature, ...Signature[]]>;
  /** Returns whether it can sign now. */
  readonly check: () => Promise<boolean>;
}

/** Prefix of the signed text. It prevents reuse of a signature for another purpose. */
export const signedPrefix = 'Content-Signature:\u0000';
