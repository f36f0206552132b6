// The text of a new configuration file: what a service needs is set, everything else is there as a comment with its
// default. It comes from the table, so it cannot fall behind.
import { formatValue, type Setting, type SettingsTable } from './definition.ts';
import { isLoopback } from './loopback.ts';
import { defaultMemcachedHosts } from './memcached-hosts.ts';
import { generateSecret, profileValues } from './profile.ts';
import { coreSettings } from './table.ts';

export interface TemplateChoices {
  readonly format: 'ini' | 'toml';
  readonly backend: 'memory' | 'sqlite' | 'postgresql' | 'redis';
  readonly cacheBackend: 'memory' | 'sqlite' | 'postgresql' | 'redis' | 'memcached';
  readonly host: string;
  readonly port: number;
}

/** A configuration file with new secrets. */
export function formatTemplate(choices: TemplateChoices): string {
  const active = activeValues(choices);
  const lines = [
    '# Configuration of a Coffer service. Start it with: coffer start --config <this file>',
    '# Lines that are commented out show the defaults. Environment variables such as SVC_READONLY go before this file.',
    '# This file holds secrets: keep it readable for the service only.',
    '',
    choices.format === 'ini' ? '[app:main]' : '[coffer]',
  ];
  let section = '';
  for (const [key, row] of Object.entries(coreSettings satisfies SettingsTable)) {
    if (row.section !== section) {
      section = row.section;
      lines.push('', `# ---- ${section} ----`);
    }
    lines.push(
      '',
      ...wrap(row.sentence),
      `# Takes ${row.reader.form}.`,
      formatSetting(key, row, active, choices.format),
    );
  }
  return `${lines.join('\n')}\n`;
}

function activeValues({ backend, cacheBackend, host, port }: TemplateChoices): ReadonlyMap<string, string> {
  // Other machines use names that nobody knows yet.
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
    ['userid_hmac_secret', generateSecret()],
    ['default_bucket_hmac_secret', generateSecret()],
    ...databaseUrls(backend, cacheBackend),
    ...(cacheBackend === 'memcached' ? [['cache_hosts', defaultMemcachedHosts.join(' ')] as const] : []),
  ]);
}

/** Where a database has to be named, an example of what it looks like. */
function databaseUrls(backend: string, cacheBackend: string): readonly (readonly [key: string, value: string])[] {
  const example = 'postgresql://coffer:password@localhost:5432/coffer';
  const kinds = backend === 'postgresql' ? ['storage', 'permission'] : [];
  if (cacheBackend === 'postgresql') kinds.push('cache');
  return kinds.map((kind) => [`${kind}_url`, example] as const);
}

function formatSetting(
  key: string,
  row: Setting<unknown>,
  active: ReadonlyMap<string, string>,
  format: 'ini' | 'toml',
): string {
  const given = active.get(key);
  const mark = given === undefined ? '# ' : '';
  const isVersion = key === 'project_version';
  const value = isVersion ? '' : (given ?? formatValue(row.default));
  if (format === 'ini') return `${mark}${key} = ${value.replaceAll('%', '%%')}`.trimEnd();
  const isBare = /^(?:true|false|-?\d+)$/.test(value);
  return `${mark}${/^[\w-]+$/.test(key) ? key : JSON.stringify(key)} = ${isBare ? value : JSON.stringify(value)}`;
}

/** The sentence as comment lines of no more than 100 characters. */
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
