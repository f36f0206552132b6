// Settings whose names hold a kind, a method, an id or a policy, so that no table can list them. They are looked up by
// name when needed; here they are known by their form, to tell them from misspelt ones. Also the names that existing
// deployments write and that mean nothing here.
import { flag, integer, list, type Reader } from './readers.ts';

export interface SettingsFamily {
  /** How the names look, for the reference. */
  readonly form: string;
  readonly sentence: string;
  readonly pattern: RegExp;
  /** The same form in an environment variable, lower-case and without its prefix: `.` and `-` have become `_`. */
  readonly environmentPattern: RegExp;
  /** How values are read, when all members agree on it. */
  readonly reader: Reader<unknown> | undefined;
}

/** Families of the core. */
export const coreFamilies: readonly SettingsFamily[] = [
  family({
    form: '<kind>_<permission>_principals',
    sentence: 'Principals that have a permission on every object of a kind, such as record_create_principals.',
    pattern: /^[a-z][a-z0-9_-]*_[a-z]+_principals$/,
    reader: list(),
  }),
  family({
    form: '<kind>_cache_expires_seconds, <bucket>.record_cache_expires_seconds, <bucket>.<collection>.record_cache_expires_seconds',
    sentence:
      'Seconds for which answers to anonymous callers may be cached, also of kinds that plugins add; 0 means not at all. The older spelling with _ in place of . after an id is understood.',
    pattern: /^(?:[a-z][a-z0-9_-]*|[A-Za-z0-9_.-]+[._]record)_cache_expires_seconds$/,
    reader: integer({ min: 0 }),
  }),
  family({
    form: 'plural_<kind>_<method>_enabled, object_<kind>_<method>_enabled',
    sentence: 'Switches one method of the lists or of the objects of a kind off; the method is written in lower case.',
    pattern: /^(?:plural|object)_[a-z][a-z0-9_-]*_(?:get|head|post|put|patch|delete)_enabled$/,
    reader: flag(),
  }),
  family({
    form: '<kind>_id_generator',
    sentence: 'How ids of a kind are made and checked.',
    pattern: /^[a-z][a-z0-9_-]*_id_generator$/,
    reader: undefined,
  }),
  family({
    form: 'multiauth.policy.<name>.<parameter>',
    sentence: 'Parameters of an authentication policy; use names what it is made of.',
    pattern: /^multiauth\.policy\.[^.]+\..+$/,
    reader: undefined,
  }),
  family({
    form: 'event_listeners, event_listeners.<name>.<parameter>',
    sentence: 'Names of event listeners, and what each is made of.',
    pattern: /^event_listeners(?:\..+)?$/,
    reader: undefined,
  }),
  family({
    form: 'rate_limits.<name>.<parameter>',
    sentence:
      'What a rate limit allows: so many requests in a window (a minute unless set), counted per user, address or all; methods and paths narrow it.',
    pattern: /^rate_limits\.[^.]+\.(?:requests|window|per|methods|paths)$/,
    reader: undefined,
  }),
];

/** A family; environment variables are recognised by the same form. */
export function family(given: Omit<SettingsFamily, 'environmentPattern'>): SettingsFamily {
  const source = given.pattern.source.replaceAll(String.raw`\.`, '_').replaceAll('[^.]', '.');
  return { ...given, environmentPattern: new RegExp(source) };
}

const ignored: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^(?:storage|permission|cache)_poolclass$/, 'there is one kind of connection pool'],
  [/^sentry_(?:dsn|env|breadcrumbs_min_level|events_min_level)$/, 'errors are told in the log alone'],
  [/^profiler_(?:enabled|dir)$/, 'Node.js makes profiles itself (node --cpu-prof)'],
  [/^newrelic_(?:config|env)$/, 'there is no such agent for this software'],
  [
    /^(?:json_renderer|logging_renderer|settings_prefix|tm\.annotate_user)$/,
    'it is about the inside of the reference server',
  ],
  [/^statsd_backend$/, 'there is one implementation'],
  [/^initialization_sequence$/, 'the steps at start are fixed'],
  [/^transaction_per_request$/, 'every request is one transaction'],
  [/^signer\.(?:.+\.)?group_check_enabled$/, 'groups are checked wherever reviews are on'],
  [/^signer\.heartbeat_certificate_/, 'the heartbeat does not look at certificates'],
  [/^(?:use|filter-with)$/, ''],
  [/^cornice\./, ''],
  [/^pyramid\./, ''],
];

/** Why a setting of existing deployments has no effect; an empty reason is not worth a warning. */
export function findReasonToIgnore(key: string): string | undefined {
  return ignored.find(([pattern]) => pattern.test(key))?.[1];
}
