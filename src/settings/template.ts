// The text of a new configuration file: the settings that are changed most, each with its documentation from the table, and
// the plugins.
import { formatValue, type SettingsTable } from './definition.ts';
import { formatAssignment } from './file-format.ts';
import { isLoopback } from './loopback.ts';
import { defaultMemcachedHosts } from './memcached-hosts.ts';
import { generateSecret, profileValues } from './profile.ts';
import { defaultSqliteFile } from './sqlite-file.ts';
import { coreSettings, type CoreTable } from './table.ts';
import { readHomepage } from './version.ts';

export interface TemplateChoices {
  readonly format: 'ini' | 'toml';
  readonly backend: 'memory' | 'sqlite' | 'postgresql' | 'redis';
  readonly cacheBackend: 'memory' | 'sqlite' | 'postgresql' | 'redis' | 'memcached';
  readonly host: string;
  readonly port: number;
  /** Secret of the user ids of existing data; absent: new secrets are generated. */
  readonly secret?: string | undefined;
}

interface Section {
  readonly title: string;
  readonly keys: readonly (keyof CoreTable)[];
}

const sections: readonly Section[] = [
  { title: 'Address', keys: ['host', 'http_port', 'allowed_hosts', 'cors_origins', 'http_scheme', 'http_host'] },
  {
    title: 'Data',
    keys: [
      'storage_backend',
      'permission_backend',
      'cache_backend',
      'storage_url',
      'permission_url',
      'cache_url',
      'cache_hosts',
      'workers',
    ],
  },
  {
    title: 'Users',
    keys: ['userid_hmac_secret', 'default_bucket_hmac_secret', 'multiauth.policies', 'bucket_create_principals'],
  },
  {
    title: 'Service',
    keys: ['project_name', 'readonly', 'paginate_by', 'experimental_collection_schema_validation', 'log_level'],
  },
];

/** Returns a configuration file with the chosen backends and with secrets. */
export function formatTemplate(choices: TemplateChoices): string {
  const active = activeValues(choices);
  const format = (key: string, value: string): string => formatAssignment(key, value, choices.format).join('\n');
  const lines = [
    '# Configuration of a Coffer service. Start it with: coffer start --config <this file>',
    '# This file contains secrets: make it readable for the service only.',
    '#',
    '# Commented-out lines show defaults. The reference describes all settings:',
    `# docs/reference/settings.md, ${readHomepage()}`,
    '# Environment variables override this file: SVC_READONLY sets readonly.',
    '',
    choices.format === 'ini' ? '[app:main]' : '[coffer]',
  ];
  for (const { title, keys } of sections) {
    lines.push('', `# ---- ${title} ----`);
    for (const key of keys) {
      const given = active.get(key);
      if (given === undefined && isUseless(key, choices)) continue;
      lines.push(
        '',
        ...wrap(sentenceOf(key)),
        given === undefined ? `# ${format(key, defaultOf(key))}` : format(key, given),
      );
    }
  }
  lines.push('', '# ---- Plugins ----', '', ...describePlugins(), format('includes', active.get('includes') ?? ''));
  return `${lines.join('\n')}\n`;
}

function activeValues({ backend, cacheBackend, host, port, secret }: TemplateChoices): ReadonlyMap<string, string> {
  // The public host names are not known yet.
  const isOpen = !isLoopback(host);
  const values = Object.entries(profileValues).filter(
    ([key]) => !isOpen || (key !== 'allowed_hosts' && key !== 'cors_origins'),
  );
  return new Map([
    ...values,
    ['storage_backend', backend],
    ['permission_backend', backend],
    ['cache_backend', cacheBackend],
    ['host', host],
    ['http_port', String(port)],
    ['userid_hmac_secret', secret ?? generateSecret()],
    // Personal buckets of existing data have ids derived from the first secret.
    ...(secret === undefined ? [['default_bucket_hmac_secret', generateSecret()] as const] : []),
    ...databaseUrls(backend, cacheBackend),
    ...(cacheBackend === 'memcached' ? [['cache_hosts', defaultMemcachedHosts.join(' ')] as const] : []),
  ]);
}

/** Returns the URLs of the databases; examples for servers. */
function databaseUrls(backend: string, cacheBackend: string): readonly (readonly [key: string, value: string])[] {
  const places: Readonly<Record<string, string>> = {
    sqlite: defaultSqliteFile,
    postgresql: 'postgresql://coffer:password@localhost:5432/coffer',
    redis: 'redis://127.0.0.1:6379/0',
  };
  const kinds = [
    ['storage_url', backend],
    ['permission_url', backend],
    ['cache_url', cacheBackend],
  ] as const;
  return kinds.flatMap(([key, name]) => (places[name] === undefined ? [] : [[key, places[name]] as const]));
}

/** Whether an unset setting has no meaning in this file. */
function isUseless(key: keyof CoreTable, { backend, cacheBackend }: TemplateChoices): boolean {
  if (key === 'cache_hosts' || key === 'cache_url' || key === 'storage_url' || key === 'permission_url') return true;
  const isShared = (name: string): boolean => name === 'postgresql' || name === 'redis';
  return key === 'workers' && !(isShared(backend) && (isShared(cacheBackend) || cacheBackend === 'memcached'));
}

function sentenceOf(key: keyof CoreTable): string {
  return (coreSettings satisfies SettingsTable)[key].sentence;
}

function defaultOf(key: keyof CoreTable): string {
  return formatValue(coreSettings[key].default);
}

function describePlugins(): readonly string[] {
  const width = Math.max(...Object.keys(pluginDescriptions).map((name) => name.length));
  return [
    '# Plugins in loading order. Available:',
    ...Object.entries(pluginDescriptions).map(([name, sentence]) => `#   ${name.padEnd(width)}  ${sentence}`),
  ];
}

/** Descriptions of the built-in plugins by name in `includes`. */
export const pluginDescriptions: Readonly<Record<string, string>> = {
  default_bucket: 'Gives each user a personal bucket at /buckets/default.',
  history: 'Records every change of buckets, collections, groups and records.',
  admin: 'Serves the web console at /v1/admin/.',
  accounts: 'Manages users with passwords in the database.',
  openid: 'Accepts logins from OpenID Connect providers.',
  attachments: 'Stores files that belong to records.',
  quotas: 'Limits the number and size of the records in a bucket or collection.',
  signer: 'Signs collections, after a review where one is required.',
  changes: 'Lists recent changes of chosen collections for clients that poll.',
  emailer: 'Sends mails when objects change.',
  prometheus: 'Serves metrics for Prometheus at /v1/__metrics__.',
  statsd: 'Sends metrics to StatsD.',
  counters: 'Serves the number of objects of each kind at /v1/__counters__.',
  flush: 'Serves POST /v1/__flush__, which deletes all data. For development only.',
};

/** Returns the sentence as comment lines of at most 100 characters. */
function wrap(sentence: string): readonly string[] {
  const lines: string[] = [];
  let line = '#';
  for (const word of sentence.split(' ')) {
    if (line.length + word.length >= 100) {
      lines.push(line);
      line = '#';
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
