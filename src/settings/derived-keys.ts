// Keys for single purposes, derived from the secret of the service. User ids of Basic authentication are HMACs with the same
// secret, over `user:password`, and clients see them. So a key is derived from a text without colon, which no credentials are.
import { createHmac } from 'node:crypto';

type KeyPurpose =
  | 'accounts'
  | 'addresses of attachments'
  | 'fingerprint of default_bucket_hmac_secret'
  | 'fingerprint of userid_hmac_secret'
  | 'hash of the configuration file'
  | 'live sessions'
  | 'openid logins'
  | 'page tokens'
  | 'verified tokens';

/** Returns the key of 32 bytes for a purpose, the same in all processes. */
export function deriveKey(secret: string, purpose: KeyPurpose): Buffer {
  return createHmac('sha256', secret).update(purpose).digest();
}
