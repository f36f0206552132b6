// Settings of the plugin: where files are kept and how they are reached.
import type { BlobPlace } from '../../contracts/blobs.ts';
import { setting, type ValuesOf } from '../../settings/definition.ts';
import type { SettingsFamily } from '../../settings/families.ts';
import { SettingsError, type Problem } from '../../settings/problems.ts';
import { duration, flag, integer, matching, optional, text, url } from '../../settings/readers.ts';
import type { Settings } from '../../settings/settings.ts';

const section = 'Attachments';

const gcloudForm = 'nothing: see attachment.aws.endpoint';
const gcloudSentence =
  'Not supported. Google Cloud Storage is reached by attachment.aws.endpoint = https://storage.googleapis.com with an HMAC key.';

export const attachmentSettings = {
  'attachment.base_url': setting(
    url(),
    'Address below which the files are served by something else: a web server or a CDN. Without it the service itself serves them, to those who may read their records.',
    { default: '', section },
  ),
  'attachment.extra.base_url': setting(url(), 'Shown in the root view in place of attachment.base_url.', {
    default: '',
    section,
  }),
  'attachment.url_lifetime_seconds': setting(
    duration({ min: 0, max: 86_400 }),
    'Lifetime of addresses of files that work without credentials, which readers of a record get at …/attachment/url; 0 switches them off. They need userid_hmac_secret, and files that the service itself serves.',
    { default: 300, section },
  ),
  'attachment.base_path': setting(
    text('a folder'),
    'Folder of the files, for this service alone. It is created where it is missing.',
    { default: '', section },
  ),
  'attachment.aws.endpoint': setting(
    url(),
    'Address of a service that speaks the protocol of S3, without the bucket; the one of AWS for the region unless set.',
    { default: '', section },
  ),
  'attachment.aws.region': setting(matching(/^[A-Za-z0-9-]+$/, 'a name such as eu-west-1'), 'Region of the bucket.', {
    default: 'us-east-1',
    section,
  }),
  'attachment.aws.bucket_name': setting(
    matching(/^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/, 'the name of a bucket'),
    'Bucket that keeps the files in place of a folder, for this service alone.',
    { default: '', section },
  ),
  'attachment.aws.access_key': setting(text(), 'Id of the key that may use the bucket.', { default: '', section }),
  'attachment.aws.secret_key': setting(text(), 'Secret of that key.', { default: '', section, isSecret: true }),
  'attachment.aws.acl': setting(
    matching(/^[a-z-]+$/, 'a canned access list such as public-read'),
    'Access list that is given to each file; as the bucket says unless set.',
    { default: '', section },
  ),
  'attachment.aws.use_path_style': setting(
    optional(flag()),
    'Whether the bucket stands in the path and not in the name of the host; true with attachment.aws.endpoint, else false, unless set.',
    { default: undefined, section },
  ),
  'attachment.aws.timeout_seconds': setting(
    duration({ min: 0.05 }),
    'Time that the object store may stay silent during a request.',
    { default: 30, section },
  ),
  'attachment.aws.num_retries': setting(
    integer({ min: 0, max: 20 }),
    'How often a request to the object store is repeated when it failed for a reason that may pass.',
    { default: 3, section },
  ),
  'attachment.gcloud.credentials': setting(text(gcloudForm), gcloudSentence, { default: '', section }),
  'attachment.gcloud.bucket_name': setting(text(gcloudForm), gcloudSentence, { default: '', section }),
  'attachment.gcloud.acl': setting(text(gcloudForm), gcloudSentence, { default: '', section }),
  'attachment.folder': setting(
    text('a path such as {bucket_id}/{collection_id}'),
    'Folder below attachment.base_path, or beginning of the names in the bucket; {bucket_id} and {collection_id} are replaced.',
    { default: '', section },
  ),
  'attachment.keep_old_files': setting(
    flag(),
    'Whether files stay when they are replaced or removed, or their record is deleted.',
    { default: false, section },
  ),
  'attachment.randomize': setting(flag(), 'Whether files are stored under a random name with their own extension.', {
    default: true,
    section,
  }),
  'attachment.filename_pattern': setting(
    text('a text such as {datetime}-{rid}-{filename}'),
    'Name that files are stored under: {filename} is the random name, or the cleaned name that the client gave, {datetime} the time as YYYYmmddHHMMSS in UTC, {rid} the id of the record.',
    { default: '{filename}', section },
  ),
  'attachment.extensions': setting(
    text('names joined by +'),
    'Extensions that files may have: groups (documents, text, images, audio, video, data, scripts, archives, executables; default is documents+text+images+data, any is all) and single extensions. Names without extension are always accepted.',
    { default: 'default', section },
  ),
  'attachment.mimetypes': setting(
    text('pairs such as .ext:type/subtype, joined by ;'),
    'Media types by extension, in place of what clients say.',
    { default: '', section },
  ),
  'attachment.max_size_bytes': setting(integer({ min: 0 }), 'Bytes that a file may have; 0 is no limit.', {
    default: 0,
    section,
  }),
};

export type AttachmentValues = ValuesOf<typeof attachmentSettings>;

/** Settings that a bucket or a collection may have of its own. */
export const overrides = ['folder', 'keep_old_files', 'randomize', 'filename_pattern', 'max_size_bytes'] as const;

const anyOverride = overrides.join('|');

export const attachmentFamilies: readonly SettingsFamily[] = [
  {
    form: `attachment.resources.<bucket>.<name>, attachment.resources.<bucket>.<collection>.<name>`,
    sentence: `Other values for one bucket or collection of attachment.<name>, where the name is one of ${overrides.join(', ')}. That of the collection goes before that of the bucket.`,
    pattern: new RegExp(String.raw`^attachment\.resources\.[^.]+(?:\.[^.]+)?\.(?:${anyOverride})$`),
    environmentPattern: new RegExp(`^attachment_resources_.+_(?:${anyOverride})$`),
    reader: undefined,
  },
];

/**
 * Where the files are kept.
 *
 * @throws SettingsError when it is not said, or said twice
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
    complain('attachment.base_path', 'files are kept here or in attachment.aws.bucket_name, not both');
  } else if (path === '' && bucket === '' && problems.length === 0) {
    complain('attachment.base_path', 'name a folder for the files, or a bucket with attachment.aws.bucket_name');
  }
  if (bucket !== '') {
    for (const name of ['access_key', 'secret_key'] as const) {
      if (values[`attachment.aws.${name}`] === '') complain(`attachment.aws.${name}`, 'must be set for the bucket');
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
