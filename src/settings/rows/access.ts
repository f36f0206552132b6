// Settings of permissions, authentication, ids and pages of lists.
import { setting } from '../definition.ts';
import { dottedChoiceOr, duration, flag, integer, list, matching, orNone, text } from '../readers.ts';

const generator = dottedChoiceOr(['UUID4', 'NameGenerator', 'RelaxedUUID'], {
  isDeprecated: false,
  form: 'the name of a generator from a plugin',
  pattern: /^[\w.-]+$/,
});

/** Principals with permissions everywhere, optional endpoints, and ids. */
export const accessSettings = {
  explicit_permissions: setting(
    flag(),
    "Whether the caller is added to the object's `write` permission on create and update.",
    {
      default: true,
      isPublic: true,
    },
  ),
  bucket_create_principals: setting(list('principals'), 'Principals that may create buckets.', {
    default: ['system.Authenticated'],
  }),
  permissions_read_principals: setting(
    list('principals'),
    'Principals that may read the list of their own permissions at /permissions.',
    {
      default: ['system.Everyone'],
    },
  ),
  'user-data_delete_principals': setting(list('principals'), 'Principals that may delete all data of a user.', {
    default: [],
  }),
  experimental_permissions_endpoint: setting(
    flag(),
    'Whether /permissions is served, which lists the permissions of the caller.',
    {
      default: false,
    },
  ),
  experimental_collection_schema_validation: setting(
    flag(),
    'Whether records, groups and collections are validated against JSON Schemas of their collection or bucket.',
    {
      default: false,
    },
  ),
  id_generator: setting(
    generator,
    'Default generator of ids, for kinds without a setting of their own. A generator also defines the accepted ids.',
    {
      default: 'UUID4',
    },
  ),
  bucket_id_generator: setting(generator, 'Generator of bucket ids.', { default: 'NameGenerator' }),
  collection_id_generator: setting(generator, 'Generator of collection ids.', {
    default: 'NameGenerator',
  }),
  group_id_generator: setting(generator, 'Generator of group ids.', { default: 'NameGenerator' }),
  record_id_generator: setting(generator, 'Generator of record ids.', { default: 'RelaxedUUID' }),
};

/** Names of the built-in authorization policy, including those of Kinto. */
export const builtInAuthorization = /^(?:(?:svc|kinto|kinto\.core)\.authorization\.)?(?:Route)?AuthorizationPolicy$/;

/** Policies and secrets. */
export const authenticationSettings = {
  userid_hmac_secret: setting(
    text('a long random text'),
    'Secret from which user ids of Basic authentication are derived. A different secret changes every user id.',
    { default: '', isSecret: true, aliases: ['user_hmac_secret'] },
  ),
  userid_hmac_legacy_empty: setting(
    flag(),
    'Whether user ids of Basic authentication are derived with an empty secret, as Kinto does when no secret is set. Any reader of such an id can find its name and password by brute force. userid_hmac_secret then protects all other values, and may be empty.',
    { default: false },
  ),
  default_bucket_hmac_secret: setting(
    text('a long random text'),
    'Secret from which ids of personal buckets are derived. Default: userid_hmac_secret.',
    { default: '', isSecret: true },
  ),
  default_bucket_hmac_legacy_empty: setting(
    flag(),
    'Whether ids of personal buckets are derived with an empty secret, as Kinto does when no secret is set. Such ids can be guessed.',
    { default: false },
  ),
  'multiauth.policies': setting(
    list('names of policies'),
    'Authentication policies in the order in which they are tried. Empty means that all callers are anonymous.',
    {
      default: ['basicauth'],
      noteWhenAbsent:
        'multiauth.policies is not set: Basic authentication is enabled, and any name with any password is a valid user',
    },
  ),
  'multiauth.groupfinder': setting(
    matching(/(?:^|\.)groupfinder$/, 'the built-in groupfinder'),
    'Function that finds the groups of a user. Only the built-in one exists.',
    { default: 'groupfinder' },
  ),
  'multiauth.authorization_policy': setting(
    matching(/^[^\s]+$/, 'AuthorizationPolicy, the name of a policy of a plugin, a package, or a path'),
    'Authorization policy, which decides every access. AuthorizationPolicy applies permissions and settings. Other policies come from a plugin, or from a module that exports createAuthorization.',
    { default: 'AuthorizationPolicy' },
  ),
  authorization_timeout_seconds: setting(
    duration({ min: 0.01 }),
    'Maximum time of a call of an authorization policy of a plugin or module. After it the request gets 503 and is undone.',
    { default: 10 },
  ),
};

/** Pages of lists. */
export const listSettings = {
  paginate_by: setting(
    orNone(integer({ min: 1 })),
    'Default and maximum number of objects per page of a list. Empty means no page limit.',
    {
      default: undefined,
    },
  ),
  storage_max_fetch_size: setting(
    integer({ min: 1 }),
    'Maximum number of objects per list request, regardless of `_limit`.',
    {
      default: 10_000,
    },
  ),
  refuse_outdated_since: setting(
    flag(),
    'Whether the service responds 410 to `_since` older than the newest purged deletion of a list. If false, the response has the header `Resync` instead.',
    { default: false },
  ),
  pagination_token_validity_seconds: setting(
    integer({ min: 1 }),
    'Validity in seconds of the token for the next page of a list deletion.',
    {
      default: 600,
    },
  ),
  pagination_token_signed: setting(flag(), 'Whether page tokens are signed, so that clients cannot forge them.', {
    default: false,
  }),
};
