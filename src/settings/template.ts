// The text of a new configuration file: the settings that are changed most, each with its documentation from the table, and
// the plugins.
import { backendKinds, type BackendKind } from './backend-description.ts';
import { type BackendSettings } from './backend-settings.ts';
import { formatValue, type SettingsTable } from './definition.ts';
import { formatAssignment } from './file-format.ts';
import { isLoopback } from './loopback.ts';
import { generateSecret, valuesFor } from './profile.ts';
import { coreSettingsFor, tablesOfBackends, type CoreTable } from './table.ts';

export interface TemplateChoices {
  readonly format: 'ini' | 'toml';
  /** Backends to choose from. */
  readonly backends: readonly BackendSettings[];
  /** Name of the backend of objects and permissions. */
  readonly backend: string;
  readonly cacheBackend: string;
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
  const { backends } = choices;
  const table: SettingsTable = Object.fromEntries(
    [coreSettingsFor(backends), ...tablesOfBackends(backends)].flatMap((each) => Object.entries(each)),
  );
  const ofBackends = placesOf(choices).map(([key]) => key);
  const format = (key: string, value: string): string => formatAssignment(key, value, choices.format).join('\n');
  const lines = [
    '# Configuration of a Coffer service. Start it with: coffer start --config <this file>',
    '# This file contains secrets: make it readable for the service only.',
    '#',
    '# Commented-out lines show defaults. All settings are described in the console of the running',
    '# service (/v1/admin/, Operations), and in docs/reference/settings.md of the source repository.',
    '# Environment variables override this file: SVC_READONLY sets readonly.',
    '',
    choices.format === 'ini' ? '[app:main]' : '[coffer]',
  ];
  for (const { title, keys } of sections) {
    lines.push('', `# ---- ${title} ----`);
    for (const key of title === 'Data' ? new Set([...keys, ...ofBackends]) : keys) {
      const given = active.get(key);
      if (given === undefined && isUseless(key, choices)) continue;
      lines.push(
        '',
        ...wrap(table[key]!.sentence),
        given === undefined ? `# ${format(key, formatValue(table[key]!.default))}` : format(key, given),
      );
    }
  }
  lines.push('', '# ---- Plugins ----', '', ...describePlugins(), format('includes', active.get('includes') ?? ''));
  return `${lines.join('\n')}\n`;
}

function activeValues(choices: TemplateChoices): ReadonlyMap<string, string> {
  const { backend, cacheBackend, host, port, secret } = choices;
  // The public host names are not known yet.
  const isOpen = !isLoopback(host);
  const values = [...valuesFor(host)].filter(([key]) => !isOpen || (key !== 'allowed_hosts' && key !== 'cors_origins'));
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
    ...placesOf(choices),
  ]);
}

/** Returns the settings with the locations of the data; examples for servers. */
function placesOf(choices: TemplateChoices): readonly (readonly [key: string, value: string])[] {
  return backendKinds.flatMap((kind) => {
    const { url, initialSettings = {} } = chosenFor(kind, choices) ?? {};
    return [...(url === undefined ? [] : [[`${kind}_url`, url.example] as const]), ...Object.entries(initialSettings)];
  });
}

function chosenFor(
  kind: BackendKind,
  { backends, backend, cacheBackend }: TemplateChoices,
): BackendSettings | undefined {
  const name = kind === 'cache' ? cacheBackend : backend;
  return backends.find((each) => each.name === name);
}

/** Whether an unset setting has no meaning in this file. */
function isUseless(key: string, choices: TemplateChoices): boolean {
  if (key.endsWith('_url')) return true;
  return key === 'workers' && backendKinds.some((kind) => chosenFor(kind, choices)?.reasonForOneProcess !== undefined);
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
  operations: 'Serves figures, log lines and settings to operators at /v1/operations.',
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
