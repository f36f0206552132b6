// Settings of the plugin: one set for all, which buckets and collections of sources may override.
import { setting, type SettingsTable, type ValueOf, type ValuesOf } from '../../settings/definition.ts';
import type { SettingsFamily } from '../../settings/families.ts';
import { dottedChoice, duration, flag, list, optional, text, url } from '../../settings/readers.ts';
import type { Settings } from '../../settings/settings.ts';
import { isPattern, matchesPattern, patternFamily } from './patterns.ts';
import { resourcesReader, type Place } from './routes.ts';

const section = 'Signing';

export const signerSettings = {
  'signer.resources': setting(
    resourcesReader,
    'Which collections are signed: those of a bucket, or one, each with a destination and, if wanted, a preview before it. One line for each; all addresses of a line are buckets, or all are collections.',
    { default: [], section },
  ),
  'signer.to_review_enabled': setting(
    flag(),
    'Whether signing takes the request of an editor and the approval of a reviewer, who is somebody else.',
    { default: false, section },
  ),
  'signer.editors_group': setting(
    text('the id of a group, in which {bucket_id} and {collection_id} may stand'),
    'Group of those who may ask for reviews.',
    { default: '{collection_id}-editors', section },
  ),
  'signer.reviewers_group': setting(
    text('the id of a group, in which {bucket_id} and {collection_id} may stand'),
    'Group of those who may approve.',
    { default: '{collection_id}-reviewers', section },
  ),
  'signer.allow_floats': setting(
    flag(),
    'Accepts numbers with a fraction or an exponent in records that are to be signed. Not all clients write them alike, and a signature fails where they do not.',
    { default: false, section },
  ),
  'signer.auto_create_resources': setting(
    flag(),
    'Creates the buckets, and the collections that have a line of their own, at start.',
    { default: false, section },
  ),
  'signer.auto_create_resources_principals': setting(
    list('principals'),
    'Who may write to the sources that are created at start.',
    { default: ['system.Authenticated'], section },
  ),
  'signer.hard_delete_destination_on_source_deletion': setting(
    flag(),
    'Deletes preview and destination with their source. Otherwise they are emptied and signed, so that clients hear of it.',
    { default: false, section },
  ),
  'signer.signer_backend': setting(
    dottedChoice(['local_ecdsa', 'autograph'], { isDeprecated: false }),
    'What signs: keys in files, or an Autograph server.',
    { default: 'local_ecdsa', section },
  ),
  'signer.ecdsa.private_key': setting(
    optional(text('a file')),
    'File with the private key, on the curve P-384 in PEM form.',
    { default: undefined, section },
  ),
  'signer.ecdsa.public_key': setting(
    optional(text('a file')),
    'File with the public key; the start fails when it does not fit the private one.',
    { default: undefined, section },
  ),
  'signer.autograph.server_url': setting(optional(url()), 'Address of the Autograph server.', {
    default: undefined,
    section,
  }),
  'signer.autograph.hawk_id': setting(optional(text()), 'Name by which the Autograph server knows this service.', {
    default: undefined,
    section,
  }),
  'signer.autograph.hawk_secret': setting(optional(text()), 'Key that goes with the name.', {
    default: undefined,
    isSecret: true,
    section,
  }),
  'signer.autograph.timeout_seconds': setting(
    duration({ min: 0.001, max: 300 }),
    'Time that the Autograph server may take. The collections that are being signed cannot be written to meanwhile.',
    { default: 10, section },
  ),
} satisfies SettingsTable;

type Table = typeof signerSettings;
/** Names without the prefix `signer.`. */
type Name = { [K in keyof Table]: K extends `signer.${infer N}` ? N : never }[keyof Table];

/** What cannot be said for one bucket or collection alone. */
const shared = ['signer.resources'];

const own = Object.entries<SettingsTable[string]>(signerSettings).filter(([key]) => !shared.includes(key));

/** The same for one source: one family for each setting, as each is read in its own way. */
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
 * Returns a setting for a source: the value for the collection, else for its bucket, else for all. Older deployments
 * join the ids of a collection with an underscore.
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

/** The collections of a bucket for which a file or the command line says something of their own. */
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
