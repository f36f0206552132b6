// Settings about who may do what, who is who, what ids look like, and how lists are paged.
import { setting } from '../definition.ts';
import { dottedChoiceOr, flag, integer, list, matching, orNone, text } from '../readers.ts';

const generator = dottedChoiceOr(['UUID4', 'NameGenerator', 'RelaxedUUID'], {
  isDeprecated: false,
  form: 'the name of one that a plugin adds',
  pattern: /^[\w.-]+$/,
});

/** Principals with permissions everywhere, optional endpoints, and ids. */
export const accessSettings = {
  explicit_permissions: setting(flag(), 'Makes whoever creates or changes an object one of its writers.', {
    default: true,
    isPublic: true,
  }),
  bucket_create_principals: setting(list('principals'), 'Who may create buckets.', {
    default: ['system.Authenticated'],
  }),
  permissions_read_principals: setting(list('principals'), 'Who may read the list of own permissions.', {
    default: ['system.Everyone'],
  }),
  'user-data_delete_principals': setting(list('principals'), 'Who may delete everything that belongs to a user.', {
    default: [],
  }),
  experimental_permissions_endpoint: setting(flag(), 'Serves /permissions, where callers list what they may do.', {
    default: false,
  }),
  experimental_collection_schema_validation: setting(
    flag(),
    'Checks records against the JSON Schema of their collection or bucket.',
    {
      default: false,
    },
  ),
  id_generator: setting(
    generator,
    'How ids are made and checked, for kinds of object without a setting of their own.',
    {
      default: 'UUID4',
    },
  ),
  bucket_id_generator: setting(generator, 'How ids of buckets are made and checked.', { default: 'NameGenerator' }),
  collection_id_generator: setting(generator, 'How ids of collections are made and checked.', {
    default: 'NameGenerator',
  }),
  group_id_generator: setting(generator, 'How ids of groups are made and checked.', { default: 'NameGenerator' }),
  record_id_generator: setting(generator, 'How ids of records are made and checked.', { default: 'RelaxedUUID' }),
};

/** The names of the built-in authorization, also as existing deployments write it. */
export const builtInAuthorization = /^(?:(?:svc|kinto|kinto\.core)\.authorization\.)?(?:Route)?AuthorizationPolicy$/;

/** Policies and secrets. */
export const authenticationSettings = {
  userid_hmac_secret: setting(
    text('a long random text'),
    'Secret that user ids of Basic authentication are derived with. Another secret makes every user another one.',
    { default: '', isSecret: true, aliases: ['user_hmac_secret'] },
  ),
  userid_hmac_legacy_empty: setting(
    flag(),
    'Whether user ids of Basic authentication are derived with an empty secret, as the reference server does when none is set. Any reader of such an id can search for its name and password. userid_hmac_secret then protects everything else, and may be empty.',
    { default: false },
  ),
  default_bucket_hmac_secret: setting(
    text('a long random text'),
    'Secret that ids of personal buckets are derived with; that of user ids unless set.',
    { default: '', isSecret: true },
  ),
  default_bucket_hmac_legacy_empty: setting(
    flag(),
    'Derives ids of personal buckets with an empty secret, as the reference server does when none is set. They can be guessed then.',
    { default: false },
  ),
  'multiauth.policies': setting(
    list('names of policies'),
    'Ways to authenticate, in the order they are tried; empty lets nobody in.',
    {
      default: ['basicauth'],
      noteWhenAbsent:
        'multiauth.policies is not set: Basic authentication is on, and any user name with any password is a user',
    },
  ),
  'multiauth.groupfinder': setting(
    matching(/(?:^|\.)groupfinder$/, 'the built-in groupfinder'),
    'What finds the groups of a user; only the built-in one exists.',
    { default: 'groupfinder' },
  ),
  'multiauth.authorization_policy': setting(
    matching(/^[^\s]+$/, 'AuthorizationPolicy, the name of a policy of a plugin, a package, or a path'),
    'What has the last word on every access: AuthorizationPolicy leaves it to permissions and settings, another one is of a plugin, or of a module that exports createAuthorization.',
    { default: 'AuthorizationPolicy' },
  ),
};

/** Pages of lists. */
export const listSettings = {
  paginate_by: setting(
    orNone(integer({ min: 1 })),
    'Objects per page of a list, and the most a client may ask for; empty is no page limit.',
    {
      default: undefined,
    },
  ),
  storage_max_fetch_size: setting(
    integer({ min: 1 }),
    'Objects that one list request returns at most, whatever it asks for.',
    {
      default: 10_000,
    },
  ),
  refuse_outdated_since: setting(
    flag(),
    'Refuses (410) to tell what changed in a list since a moment when deletions since then were forgotten; otherwise the answer has the header `Resync`.',
    { default: false },
  ),
  pagination_token_validity_seconds: setting(
    integer({ min: 1 }),
    'Seconds for which the next page of a list deletion can be asked for.',
    {
      default: 600,
    },
  ),
  pagination_token_signed: setting(flag(), 'Signs the tokens of pages, so that clients cannot write their own.', {
    default: false,
  }),
};
