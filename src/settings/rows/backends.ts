// Settings of backends: choice, locations, cache, security state and connection pools. Settings of a single backend are in the
// folder of the backend.
import { namesOf, type BackendKind, type BackendDescription } from '../backend-description.ts';
import { setting, type Setting } from '../definition.ts';
import { choice, dottedChoiceOr, duration, integer, optional, orNone, text, type Reader } from '../readers.ts';

// Dotted names are modules of Kinto, not packages.
const moduleName = /^(?:(?:\.{0,2}\/|file:).+|(?:@[\w.-]+\/)?[\w-]+(?:\/[\w./-]+)?)$/;

// A type alias, because an interface is not assignable to `SettingsTable`.
type BackendChoices = {
  readonly storage_backend: Setting<string | undefined>;
  readonly permission_backend: Setting<string | undefined>;
  readonly cache_backend: Setting<string>;
  readonly storage_url: Setting<string | undefined>;
  readonly permission_url: Setting<string | undefined>;
  readonly cache_url: Setting<string | undefined>;
};

/** Returns the settings of backends and their locations, with the names and URL forms of the given backends. */
export function backendChoices(backends: readonly BackendDescription[]): BackendChoices {
  const aliases = Object.fromEntries(
    backends.flatMap(({ name, otherNames = [] }) => otherNames.map((other) => [other, name] as const)),
  );
  const name = (kind: BackendKind): Reader<string> =>
    dottedChoiceOr(namesOf(backends, kind), {
      isDeprecated: true,
      form: 'a package, or the path of a module',
      pattern: moduleName,
      aliases,
    });
  const url = (kind: BackendKind, what: string): Setting<string | undefined> =>
    setting(optional(text(urlForm(backends, kind))), describeUrl(backends, kind, what), {
      default: undefined,
      isSecret: true,
    });
  return {
    storage_backend: setting(orNone(name('storage')), 'Backend of objects; empty means that no objects are served.', {
      default: 'memory',
    }),
    permission_backend: setting(
      orNone(name('permission')),
      'Backend of permissions. It may be empty if only user resources of plugins are served, and built_in_kinds is false.',
      { default: 'memory' },
    ),
    cache_backend: setting(name('cache'), 'Backend of the cache.', { default: 'memory' }),
    storage_url: url('storage', 'objects'),
    permission_url: url('permission', 'permissions'),
    cache_url: url('cache', 'the cache'),
  };
}

function urlForm(backends: readonly BackendDescription[], kind: BackendKind): string {
  const forms = backends.flatMap(({ kinds, url }) => (url !== undefined && kinds.includes(kind) ? [url.forms] : []));
  return forms.length === 0 ? 'a URL' : forms.join(', ').replace(/, ([^,]*)$/, ', or $1');
}

function describeUrl(backends: readonly BackendDescription[], kind: BackendKind, what: string): string {
  const sentences = backends.flatMap(({ kinds, name, url }) =>
    url !== undefined && kinds.includes(kind) ? [` With ${name}, ${url.names(kind)}.`] : [],
  );
  return `Location of ${what}.${sentences.join('')}`;
}

/** Settings of the cache and the security state, for all backends. */
export const backendSettings = {
  cache_prefix: setting(text(), 'Prefix of all keys in the cache.', { default: '' }),
  security_state_backend: setting(
    choice('storage', 'memory'),
    'Location of the security state: failed logins, activation keys, temporary passwords, known addresses. `storage` is the database of objects (with SQLite, a file next to it). `memory` is for read-only services on a standby, and loses the state with the process.',
    { default: 'storage' },
  ),
  security_state_max_entries: setting(
    integer({ min: 100 }),
    'Maximum number of live entries of security state per purpose. Further entries are refused; live ones are never dropped. Purposes with only a few entries per account are exempt.',
    { default: 100_000 },
  ),
  security_state_max_entries_per_requester: setting(
    integer({ min: 10 }),
    'Maximum number of live entries of security state per purpose that one network address may cause; IPv6 addresses count by their first 64 bits. Further requests that need one get 429.',
    { default: 1000 },
  ),
};

const poolRows = {
  pool_size: setting(
    integer({ min: 1, max: 10_000 }),
    'Number of connections kept open to PostgreSQL. With Redis, maximum number of concurrent commands per process, 50 unless set; they share one connection.',
    { default: 25 },
  ),
  max_overflow: setting(
    integer({ min: 0, max: 10_000 }),
    'Maximum number of further connections to PostgreSQL while all are busy. They are closed after an idle time.',
    { default: 5 },
  ),
  max_backlog: setting(
    integer({ min: -1 }),
    'Maximum number of callers that wait for a connection to PostgreSQL, or of commands that wait for the pool of Redis. Further ones get 503; -1 means unlimited. With Redis, also the maximum number of commands that wait for a lost connection; -1 means 1000.',
    { default: -1 },
  ),
  pool_recycle: setting(
    integer({ min: -1 }),
    'Age in seconds at which a connection to PostgreSQL is replaced; -1 means never.',
    { default: -1 },
  ),
  pool_timeout: setting(
    duration({ min: 0.001, max: 3600 }),
    'Maximum seconds that a request waits for a connection to PostgreSQL, or for the pool of Redis, before it gets 503. With Redis and memcached, also the maximum seconds of a command. With Redis, also the maximum seconds that writers to one list wait for each other.',
    { default: 30 },
  ),
};

type PoolRows<Kind extends string> = {
  readonly [Key in keyof typeof poolRows as `${Kind}_${Key}`]: (typeof poolRows)[Key];
};

/** Returns the rows of one kind of backend. Kinds with the same URL share the connections of the first. */
function poolRowsOf<const Kind extends string>(kind: Kind): PoolRows<Kind> {
  const rows = Object.entries<Setting<number>>(poolRows).map(([key, row]) => {
    const aliases = key === 'max_overflow' ? [`${kind}_maxoverflow`] : [];
    const sentence = `${row.sentence} PostgreSQL backends with the same URL share connections, by the settings of the first of storage, permission and cache.`;
    return [`${kind}_${key}`, { ...row, sentence, aliases }];
  });
  return Object.fromEntries(rows) as PoolRows<Kind>;
}

/** Connections to servers. */
export const poolSettings = {
  ...poolRowsOf('storage'),
  ...poolRowsOf('permission'),
  ...poolRowsOf('cache'),
};
