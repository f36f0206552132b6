// The secret of user ids, which is another one than that of everything else where a deployment had none.
import type { Settings } from './settings.ts';

/** Returns the secret that user ids of Basic authentication are derived with; empty in legacy mode. */
export function userIdSecret(settings: Pick<Settings, 'get'>): string {
  return settings.get('userid_hmac_legacy_empty') ? '' : settings.get('userid_hmac_secret');
}
