// The secret of user ids, which differs from the other secrets in deployments that started without one.
import type { Settings } from './settings.ts';

/** Returns the secret of user ids of Basic authentication; empty in legacy mode. */
export function userIdSecret(settings: Pick<Settings, 'get'>): string {
  return settings.get('userid_hmac_legacy_empty') ? '' : settings.get('userid_hmac_secret');
}
