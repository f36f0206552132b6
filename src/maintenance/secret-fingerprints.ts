// Fingerprints of the secrets that ids of users and of personal buckets are derived from, kept with the data: with another
// secret every user has another id, and loses access to their data without any error. They are in a separate list, which
// copies and exports include, and `__flush__` deletes with the rest. An id of the store is kept with them, which says where
// exported data comes from.
import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../base/json.ts';
import { BackendUnavailable } from '../contracts/errors.ts';
import type { Logger } from '../contracts/logger.ts';
import type { StorageBackend, StorageReader } from '../contracts/storage.ts';
import { formatAttributes, type ListKey, type StoredObject } from '../core/objects/stored.ts';
import { personalBucketSecret } from '../plugins/default-bucket/personal-bucket.ts';
import { deriveKey } from '../settings/derived-keys.ts';
import type { Settings } from '../settings/settings.ts';
import { userIdSecret } from '../settings/user-id-secret.ts';
import { inUnit } from './units.ts';
import { takesAnyPassword } from './risks.ts';

/** The list of the fingerprints. No path leads to it, and no cascade reaches it. */
export const fingerprintList: ListKey = { kind: '__secrets__', parent: '' };
const id = 'fingerprints';

const names = ['userid_hmac_secret', 'default_bucket_hmac_secret'] as const;

/** Random id of the store in which the data was written first. */
const storeId = 'store';
const members = [...names, storeId] as const;

/** Fingerprints by the setting that holds the secret, and the id of the store; absent: nothing is derived from it, or unknown. */
export type Fingerprints = Readonly<Partial<Record<(typeof members)[number], string>>>;

/** Returns the fingerprints of the secrets that ids are derived from with these settings. */
export function fingerprintsOf(settings: Settings): Fingerprints {
  const hasPersonalBuckets = settings.get('includes').includes('default_bucket');
  return {
    ...(takesAnyPassword(settings)
      ? { userid_hmac_secret: fingerprint('userid_hmac_secret', userIdSecret(settings)) }
      : {}),
    ...(hasPersonalBuckets
      ? { default_bucket_hmac_secret: fingerprint('default_bucket_hmac_secret', personalBucketSecret(settings)) }
      : {}),
  };
}

/** Returns 48 bits: too few to reveal the secret, and enough to distinguish two secrets. */
function fingerprint(name: (typeof names)[number], secret: string): string {
  return deriveKey(secret, `fingerprint of ${name}`).toString('hex').slice(0, 12);
}

/** Returns the fingerprints kept with the data; empty when there are none. */
export async function readFingerprints(reader: StorageReader): Promise<Fingerprints> {
  return fingerprintsIn(await reader.get(fingerprintList, id));
}

/** Returns the fingerprints in a JSON object, without all other members. */
export function parseFingerprints(value: JsonObject): Fingerprints {
  const found = members.flatMap((name) => {
    const text = Object.hasOwn(value, name) ? value[name] : undefined;
    return typeof text === 'string' && /^[0-9a-f]{12}$/.test(text) ? [[name, text] as const] : [];
  });
  return Object.fromEntries(found);
}

function fingerprintsIn(stored: StoredObject | undefined): Fingerprints {
  return stored === undefined ? {} : parseFingerprints(stored.attributes);
}

/**
 * Keeps fingerprints with the data, and an id of the store.
 *
 * @param options.replaces whether they replace those that are kept; otherwise those that are missing are added
 * @returns the fingerprints that are kept afterwards
 */
export function keepFingerprints(
  storage: StorageBackend,
  own: Fingerprints,
  { replaces }: { readonly replaces: boolean },
): Promise<Fingerprints> {
  return inUnit(storage.database, async (transaction) => {
    const writer = storage.writer(transaction);
    const kept = fingerprintsIn((await writer.lock(fingerprintList, id)).object);
    const newId = { [storeId]: randomBytes(6).toString('hex') };
    const wanted = replaces ? { ...newId, ...kept, ...own } : { ...newId, ...own, ...kept };
    if (members.some((name) => wanted[name] !== kept[name])) {
      await writer.update(fingerprintList, id, formatAttributes({ ...wanted }));
    }
    return wanted;
  });
}

/** Replaces the fingerprints of the target by those of the source. */
export async function carryFingerprints(source: StorageReader, target: StorageBackend): Promise<void> {
  const kept = await readFingerprints(source);
  if (Object.keys(kept).length > 0) await keepFingerprints(target, kept, { replaces: true });
}

/** Returns a sentence for each secret that derives other ids than those in the data. */
export function describeOtherSecrets(kept: Fingerprints, settings: Settings): readonly string[] {
  const own = fingerprintsOf(settings);
  const isOther = (name: (typeof names)[number]): boolean =>
    own[name] !== undefined && kept[name] !== undefined && own[name] !== kept[name];
  const accept = 'If the change is intended, accept it with: coffer check --accept-secrets';
  const sentences: string[] = [];
  if (isOther('userid_hmac_secret')) {
    sentences.push(
      `The data was written with another userid_hmac_secret. User ids of Basic authentication are derived from it: every user now has another id, and gets 403 or 404 for their own data. Set userid_hmac_secret to the earlier value; a start without configuration keeps it in data/secret. ${accept}`,
    );
  }
  // Without a separate secret for buckets, the first sentence has the remedy.
  const isSame = settings.get('default_bucket_hmac_secret') === '' && sentences.length > 0;
  if (isOther('default_bucket_hmac_secret') && !isSame) {
    sentences.push(
      `The data was written with another default_bucket_hmac_secret, or with userid_hmac_secret in its place. Ids of personal buckets are derived from it: every user now has another, empty personal bucket. Set or remove default_bucket_hmac_secret, as it was before. ${accept}`,
    );
  }
  return sentences;
}

/** Compares the secrets with those of the data, warns of differences, and stores the fingerprints of new ones and the id of the store. */
export async function compareSecrets(storage: StorageBackend, settings: Settings, logger: Logger): Promise<void> {
  if (!storage.database.abilities.durable) return;
  const own = fingerprintsOf(settings);
  try {
    let kept = await readFingerprints(storage.reader);
    const isComplete = members.every(
      (name) => kept[name] !== undefined || (name !== storeId && own[name] === undefined),
    );
    if (!isComplete && !settings.get('readonly')) kept = await keepFingerprints(storage, own, { replaces: false });
    for (const sentence of describeOtherSecrets(kept, settings)) logger.warn(sentence);
  } catch (error) {
    if (!(error instanceof BackendUnavailable)) throw error;
    // The service can still run, for example on a database that accepts no writes.
    logger.warn({ err: error }, 'The secrets could not be compared with those that the data was written with');
  }
}
