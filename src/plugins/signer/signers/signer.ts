// What signs: the contract between the plugin and the keys, wherever those are.
import type { JsonObject } from '../../../base/json.ts';

/** A signature as it stands in the attributes of a collection: `signature`, `x5u`, `mode`, and whatever comes with them. */
export interface Signature extends JsonObject {
  /** URL-safe base64. */
  readonly signature: string;
  /** Address of the certificates by which it is verified; empty when clients know the key. */
  readonly x5u: string;
  readonly mode: string;
}

export interface Signer {
  /**
   * Signs a text, as `Content-Signature:`, a null character and the text.
   *
   * @returns at least one signature
   * @throws ServiceError backendUnavailable when it cannot be done now
   */
  readonly sign: (text: string) => Promise<readonly [Signature, ...Signature[]]>;
  /** Whether it can sign now. */
  readonly check: () => Promise<boolean>;
}

/** What is really signed, so that no signature can be taken for one of something else. */
export function signedBytes(text: string): Buffer {
  return Buffer.from(`Content-Signature:\u0000${text}`, 'utf8');
}
