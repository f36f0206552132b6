// Settings of the plugin.
import type { BlobPlace } from '../../contracts/blobs.ts';
import { inSection, setting, type ValuesOf } from '../../settings/definition.ts';
import type { SettingsFamily } from '../../settings/families.ts';
import { SettingsError, type Problem } from '../../settings/problems.ts';
import { duration, flag, integer, matching, optional, text, url } from '../../settings/readers.ts';
import type { Settings } from '../../settings/settings.ts';

const gcloudForm = 'no value: see attachment.aws.endpoint';
const gcloudSentence =
  'Not supported. Use Google Cloud Storage with attachment.aws.endpoint = https://storage.googleapis.com and an HMAC key.';

export const attachmentSettings = inSection('Attachments', {
  'attachment.base_url': setting(
    url(),
    'Base URL of files served by a web server or a CDN. Empty means the service itself serves them to readers of their records.',
    { default: '' },
  ),
  'attachment.extra.base_url': setting(url(), 'Base URL shown in the root view instead of attachment.base_url.', {
    default: '',
  }),
  'attachment.url_lifetime_seconds': setting(
    duration({ min: 0, max: 86_400 }),
    'Lifetime of signed URLs, which readers of a record get at …/attachment/url, in seconds. 0 disables them. Requires userid_hmac_secret and files served by the service.',
    { default: 300 },
  ),
  'attachment.base_path': setting(
    text('a folder'),
    'Folder of the files, used by this service only. It is created if missing.',
    { default: '' },
  ),
  'attachment.aws.endpoint': setting(
    url(),
    'URL of an S3-compatible object store, without the bucket. Empty means AWS in the region.',
    { default: '' },
  ),
  'attachment.aws.region': setting(matching(/^[A-Za-z0-9-]+$/, 'a name such as eu-west-1'), 'Region of the bucket.', {
    default: 'us-east-1',
  }),
  'attachment.aws.bucket_name': setting(
    matching(/^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/, 'the name of a bucket'),
    'Bucket of the files instead of a folder, used by this service only.',
    { default: '' },
  ),
  'attachment.aws.access_key': setting(text(), 'Access key id for the bucket.', { default: '' }),
  'attachment.aws.secret_key': setting(text(), 'Secret access key.', { default: '', isSecret: true }),
  'attachment.aws.acl': setting(
    matching(/^[a-z-]+$/, 'a canned access list such as public-read'),
    'Canned access list of each file. Empty means the default of the bucket.',
    { default: '' },
  ),
  'attachment.aws.use_path_style': setting(
    optional(flag()),
    'Puts the bucket into the path instead of the host name. Default: true with attachment.aws.endpoint, false otherwise.',
    { default: undefined },
  ),
  'attachment.aws.timeout_seconds': setting(
    duration({ min: 0.05 }),
    'Maximum silence of the object store during a request, in seconds. The time in which a slow reader of a file pauses does not count.',
    { default: 30 },
  ),
  'attachment.aws.num_retries': setting(
    integer({ min: 0, max: 20 }),
    'Maximum number of retries of a request to the object store after a temporary failure.',
    { default: 3 },
  ),
  'attachment.max_downloads': setting(
    integer({ min: 1 }),
    'Maximum number of files that a process sends at the same time. One client address may have a quarter of them, and one user an eighth.',
    { default: 256 },
  ),
  'attachment.download_wait_seconds': setting(
    duration({ min: 0 }),
    'Maximum time that a request for a file waits for other downloads before the service refuses it with 503, in seconds.',
    { default: 5 },
  ),
  'attachment.gcloud.credentials': setting(text(gcloudForm), gcloudSentence, { default: '' }),
  'attachment.gcloud.bucket_name': setting(text(gcloudForm), gcloudSentence, { default: '' }),
  'attachment.gcloud.acl': setting(text(gcloudForm), gcloudSentence, { default: '' }),
  'attachment.folder': setting(
    text('a path such as {bucket_id}/{collection_id}'),
    'Folder in attachment.base_path, or name prefix in the bucket; {bucket_id} and {collection_id} are replaced. Dots become underscores.',
    { default: '' },
  ),
  'attachment.keep_old_files': setting(
    flag(),
    'Keeps files that are replaced or removed, or whose record is deleted.',
    { default: false },
  ),
  'attachment.randomize': setting(flag(), 'Stores files under a random name with their extension.', { default: true }),
  'attachment.filename_pattern': setting(
    text('a pattern such as {datetime}-{rid}-{filename}'),
    'Name of stored files: {filename} is the random name or the cleaned name from the client, {datetime} the time as YYYYmmddHHMMSS in UTC, {rid} the id of the record.',
    { default: '{filename}' },
  ),
  'attachment.extensions': setting(
    text('names joined by +'),
    'Accepted file extensions: groups (documents, text, images, audio, video, data, scripts, archives, executables; default means documents+text+images+data, any means all) and single extensions. Names without extension are always accepted.',
    { default: 'default' },
  ),
  'attachment.mimetypes': setting(
    text('pairs such as .ext:type/subtype, joined by ;'),
    'Media types by extension, which override those of clients.',
    { default: '' },
  ),
  'attachment.max_size_bytes': setting(integer({ min: 0 }), 'Maximum size of a file, in bytes; 0 means unlimited.', {
    default: 0,
  }),
});

export type AttachmentValues = ValuesOf<typeof attachmentSettings>;

/** Settings that buckets and collections can override. */
export const overrides = ['folder', 'keep_old_files', 'randomize', 'filename_pattern', 'max_size_bytes'] as const;

const anyOverride = overrides.join('|');

export const attachmentFamilies: readonly SettingsFamily[] = [
  {
    form: `attachment.resources.<bucket>.<name>, attachment.resources.<bucket>.<collection>.<name>`,
    sentence: `Overrides of attachment.<name> for one bucket or collection, where the name is one of ${overrides.join(', ')}. The value of the collection takes precedence.`,
    pattern: new RegExp(String.raw`^attachment\.resources\.[^.]+(?:\.[^.]+)?\.(?:${anyOverride})$`),
    environmentPattern: new RegExp(`^attachment_resources_.+_(?:${anyOverride})$`),
    reader: undefined,
  },
];

/**
 * Returns the folder or bucket of the files.
 *
 * @throws SettingsError when neither or both are set
 */
export function readPlace(settings: Settings): BlobPlace {
  const values = settings.read(attachmentSettings);
  const problems: Problem[] = [];
  const complain = (name: keyof AttachmentValues, message: string): void => void problems.push({ name, message });
  for (const name of ['credentials', 'bucket_name', 'acl'] as const) {
    if (values[`attachment.gcloud.${name}`] !== '') complain(`attachment.gcloud.${name}`, gcloudSentence);
  }
  const path = values['attachment.base_path'];
  const bucket = values['attachment.aws.bucket_name'];
  if (path !== '' && bucket !== '') {
    complain('attachment.base_path', 'set either this or attachment.aws.bucket_name, not both');
  } else if (path === '' && bucket === '' && problems.length === 0) {
    complain('attachment.base_path', 'set a folder for the files, or a bucket with attachment.aws.bucket_name');
  }
  if (bucket !== '') {
    for (const name of ['access_key', 'secret_key'] as const) {
      if (values[`attachment.aws.${name}`] === '')
        complain(`attachment.aws.${name}`, 'must be set with attachment.aws.bucket_name');
    }
  }
  if (problems.length > 0) throw new SettingsError(problems);
  if (bucket === '') return { kind: 'folder', path, isReadonly: settings.get('readonly') };
  return { kind: 's3', bucket, ...readConnection(values) };
}

function readConnection(values: AttachmentValues): Omit<Extract<BlobPlace, { kind: 's3' }>, 'kind' | 'bucket'> {
  const endpoint = values['attachment.aws.endpoint'];
  const region = values['attachment.aws.region'];
  return {
    endpoint: endpoint === '' ? `https://s3.${region}.amazonaws.com` : endpoint,
    region,
    accessKey: values['attachment.aws.access_key'],
    secretKey: values['attachment.aws.secret_key'],
    usesPathStyle: values['attachment.aws.use_path_style'] ?? endpoint !== '',
    acl: values['attachment.aws.acl'] || undefined,
    timeoutSeconds: values['attachment.aws.timeout_seconds'],
    retries: values['attachment.aws.num_retries'],
  };
}
