// Settings of the plugin, with overrides for source buckets and collections.
import { inSection, setting, type SettingsTable, type ValueOf, type ValuesOf } from '../../settings/definition.ts';
import type { SettingsFamily } from '../../settings/families.ts';
import { dottedChoice, duration, flag, list, optional, text, url } from '../../settings/readers.ts';
import type { Settings } from '../../settings/settings.ts';
import { isPattern, matchesPattern, patternFamily } from './patterns.ts';
import { resourcesReader, type Place } from './routes.ts';

export const signerSettings = inSection('Signing', {
  'signer.resources': setting(
    resourcesReader,
    'Collections to sign, one line each: source, optional preview, and destination. The URIs of a line are either all buckets or all collections; a bucket stands for all its collections.',
    { default: [] },
  ),
  'signer.to_review_enabled': setting(
    flag(),
    'Requires a review request of an editor and the approval of another user, a reviewer, before records are signed.',
    { default: false },
  ),
  'signer.editors_group': setting(
    text('a group id, optionally with {bucket_id} and {collection_id}'),
    'Group whose members can request reviews.',
    { default: '{collection_id}-editors' },
  ),
  'signer.reviewers_group': setting(
    text('a group id, optionally with {bucket_id} and {collection_id}'),
    'Group whose members can approve.',
    { default: '{collection_id}-reviewers' },
  ),
  'signer.allow_floats': setting(
    flag(),
    'Accepts numbers with a fraction or an exponent in signed records. Clients that format such numbers differently cannot verify the signature.',
    { default: false },
  ),
  'signer.auto_create_resources': setting(
    flag(),
    'Creates source buckets, and collections that have their own line, at start.',
    { default: false },
  ),
  'signer.auto_create_resources_principals': setting(
    list('principals'),
    'Principals with write permission on sources created at start.',
    { default: ['system.Authenticated'] },
  ),
  'signer.hard_delete_destination_on_source_deletion': setting(
    flag(),
    'Deletes preview and destination with their source. If false, they are emptied and signed, so that clients receive the deletions.',
    { default: false },
  ),
  'signer.signer_backend': setting(
    dottedChoice(['local_ecdsa', 'autograph'], { isDeprecated: false }),
    'Signing backend: keys in files, or an Autograph server.',
    { default: 'local_ecdsa' },
  ),
  'signer.ecdsa.private_key': setting(optional(text('a file')), 'File with the private key: curve P-384, PEM format.', {
    default: undefined,
  }),
  'signer.ecdsa.public_key': setting(
    optional(text('a file')),
    'File with the public key. The start fails if it does not match the private key.',
    { default: undefined },
  ),
  'signer.autograph.server_url': setting(optional(url()), 'URL of the Autograph server.', { default: undefined }),
  'signer.autograph.hawk_id': setting(optional(text()), 'Hawk id of this service at the Autograph server.', {
    default: undefined,
  }),
  'signer.autograph.hawk_secret': setting(optional(text()), 'Hawk key for the id.', {
    default: undefined,
    isSecret: true,
  }),
  'signer.autograph.timeout_seconds': setting(
    duration({ min: 0.001, max: 300 }),
    'Time limit for a response of the Autograph server, in seconds. The collections being signed stay locked during this time.',
    { default: 10 },
  ),
});

type Table = typeof signerSettings;
/** Names without the prefix `signer.`. */
type Name = { [K in keyof Table]: K extends `signer.${infer N}` ? N : never }[keyof Table];

/** Settings that a bucket or a collection can override. */
const own = Object.entries<SettingsTable[string]>(signerSettings).filter(([key]) => key !== 'signer.resources');

/** Overrides for one source: one family for each setting, because each has its own reader. */
const perSource = own.map(([key, { reader }]): SettingsFamily => {
  const name = key.slice('signer.'.length);
  const [dotted, underscored] = [name.replaceAll('.', String.raw`\.`), name.replaceAll('.', '_')];
  return {
    form: `signer.<bucket>.${name}, signer.<bucket>.<collection>.${name}`,
    sentence: `\`${key}\` for the sources in a bucket, or for one of them.`,
    pattern: new RegExp(`^signer\\.[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+)?\\.${dotted}$`),
    environmentPattern: new RegExp(`^signer_[a-z0-9_]+_${underscored}$`),
    reader,
  };
});

export const signerFamilies: readonly SettingsFamily[] = [...perSource, patternFamily];

/**
 * Returns a setting for a source: the value for the collection, for its bucket, or for all, in this order. Older
 * deployments join the ids of a collection with an underscore.
 */
export function readFor<N extends Name>(
  settings: Settings,
  values: ValuesOf<Table>,
  { bucket, collection }: Place,
  name: N,
): ValueOf<Table[`signer.${N}`]> {
  type Value = ValueOf<Table[`signer.${N}`]>;
  const row = signerSettings[`signer.${name}`] as { readonly reader: { readonly form: string } };
  const reader = row.reader as Parameters<typeof settings.lookupWith<Value>>[0];
  if (collection !== undefined) {
    const key = `signer.${bucket}.${collection}.${name}`;
    const byCollection =
      name === 'to_review_enabled'
        ? settings.lookupLast(reader, key, (pattern) => matchesPattern(pattern, { bucket, collection }))
        : settings.lookupWith(reader, key);
    const found = byCollection ?? settings.lookupWith(reader, `signer.${bucket}_${collection}.${name}`);
    if (found !== undefined) return found;
  }
  return settings.lookupWith(reader, `signer.${bucket}.${name}`) ?? values[`signer.${name}`];
}

/** Returns the collections of a bucket that have their own settings in a file or on the command line. */
export function collectionsWithOwnSettings(settings: Settings, bucket: string): readonly string[] {
  const prefix = `signer.${bucket}.`;
  const found = settings.keys().flatMap((key) => {
    if (!key.startsWith(prefix) || isPattern(key)) return [];
    const [collection, ...rest] = key.slice(prefix.length).split('.');
    const name = `signer.${rest.join('.')}`;
    return collection !== undefined && own.some(([known]) => known === name) ? [collection] : [];
  });
  return [...new Set(found)];
}
