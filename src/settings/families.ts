// Families of settings, whose names contain a kind, a method, an id or a policy and so cannot be listed in a table. They are
// read on demand. Their patterns distinguish them from misspelt names. Also the settings of existing deployments that have no
// effect here.
import { flag, integer, list, type Reader } from './readers.ts';

export interface SettingsFamily {
  /** Form of the names, for the reference. */
  readonly form: string;
  readonly sentence: string;
  readonly pattern: RegExp;
  /** Form of the environment variables, in lower case and without prefix: `.` and `-` become `_`. */
  readonly environmentPattern: RegExp;
  /** Reader of the values, when all members of the family have the same. */
  readonly reader: Reader<unknown> | undefined;
  /** Whether the service lists all names, or their beginnings, once it knows its kinds, policies and listeners. */
  readonly isOfService?: boolean;
}

/** Families of the core. */
export const coreFamilies: readonly SettingsFamily[] = [
  family({
    form: '<kind>_<permission>_principals',
    sentence: 'Principals with a permission on every object of a kind, such as record_create_principals.',
    pattern: /^[a-z][a-z0-9_-]*_[a-z]+_principals$/,
    reader: list(),
    isOfService: true,
  }),
  family({
    form: '<bucket>.record_cache_expires_seconds, <bucket>.<collection>.record_cache_expires_seconds',
    sentence:
      'Time in seconds for which responses with records to anonymous callers may be cached; 0 disables caching. The older spelling with _ instead of . after an id is accepted.',
    pattern: /^[A-Za-z0-9_.-]+[._]record_cache_expires_seconds$/,
    reader: integer({ min: 0 }),
  }),
  family({
    form: '<kind>_cache_expires_seconds',
    sentence:
      'Time in seconds for which responses to anonymous callers may be cached, for all kinds including those of plugins; 0 disables caching.',
    pattern: /^[a-z][a-z0-9_-]*_cache_expires_seconds$/,
    reader: integer({ min: 0 }),
    isOfService: true,
  }),
  family({
    form: 'plural_<kind>_<method>_enabled, object_<kind>_<method>_enabled',
    sentence:
      'Whether a method of the lists or objects of a kind is enabled. The method is written in lower case. The service does not start if a name with the value false has an unknown kind or method.',
    pattern: /^(?:plural|object)_[a-z][a-z0-9_-]*_(?:get|head|post|put|patch|delete)_enabled$/,
    reader: flag(),
    isOfService: true,
  }),
  family({
    form: '<kind>_id_generator',
    sentence: 'Generator of ids of a kind, which also defines the accepted ids.',
    pattern: /^[a-z][a-z0-9_-]*_id_generator$/,
    reader: undefined,
    isOfService: true,
  }),
  family({
    form: 'multiauth.policy.<name>.<parameter>',
    sentence: 'Parameters of an authentication policy. `use` names its implementation.',
    pattern: /^multiauth\.policy\.[^.]+\..+$/,
    reader: undefined,
    isOfService: true,
  }),
  family({
    form: 'event_listeners, event_listeners.<name>.<parameter>',
    sentence: 'Names of event listeners, and the parameters of each. `use` names its implementation.',
    pattern: /^event_listeners(?:\..+)?$/,
    reader: undefined,
    isOfService: true,
  }),
  family({
    form: 'rate_limits.<name>.<parameter>',
    sentence:
      'Parameters of a rate limit: the number of requests per window (default: one minute), counted per user, address or all. `methods` and `paths` restrict it.',
    pattern: /^rate_limits\.[^.]+\.(?:requests|window|per|methods|paths)$/,
    reader: undefined,
    isOfService: true,
  }),
];

/** Returns a family, with the pattern of its environment variables. */
export function family(given: Omit<SettingsFamily, 'environmentPattern'>): SettingsFamily {
  const source = given.pattern.source.replaceAll(String.raw`\.`, '_').replaceAll('[^.]', '.');
  return { ...given, environmentPattern: new RegExp(source) };
}

/** Names that seem to enable or disable a method of a kind, also misspelt ones. */
export const methodSwitch = /^(?:(?:SVC|KINTO)_)?(?:plural|object)_.+_enabled$/i;

/** Returns whether a setting could be one of a kind. The key may also be the rest of the name of a variable, in lower case. */
export function belongsToKind(key: string, kind: string): boolean {
  const forms = [
    /^(?:plural|object)_(.+)_[a-z]+_enabled$/,
    /^(.+)_(?:[a-z]+_principals|cache_expires_seconds|id_generator)$/,
  ];
  return forms.some((form) => form.exec(key)?.[1] === kind);
}

const ignored: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^(?:storage|permission|cache)_poolclass$/, 'only one kind of connection pool exists'],
  [/^sentry_(?:dsn|env|breadcrumbs_min_level|events_min_level)$/, 'errors are reported in the log only'],
  [/^profiler_(?:enabled|dir)$/, 'Node.js has its own profiler (node --cpu-prof)'],
  [/^newrelic_(?:config|env)$/, 'New Relic is not supported'],
  [/^(?:json_renderer|logging_renderer|settings_prefix|tm\.annotate_user)$/, 'it configures internals of Kinto'],
  [/^statsd_backend$/, 'only one implementation exists'],
  [/^initialization_sequence$/, 'the steps at start are fixed'],
  [/^transaction_per_request$/, 'every request is one transaction'],
  [/^signer\.(?:.+\.)?group_check_enabled$/, 'groups are always checked when reviews are enabled'],
  [/^signer\.heartbeat_certificate_/, 'the heartbeat does not check certificates'],
  [/^filter-with$/, 'WSGI filters are not supported'],
  [/^use$/, ''],
  [/^cornice\./, ''],
  [/^pyramid\./, ''],
];

/** Returns why a setting of existing deployments has no effect; an empty reason causes no warning. */
export function findReasonToIgnore(key: string): string | undefined {
  return ignored.find(([pattern]) => pattern.test(key))?.[1];
}
