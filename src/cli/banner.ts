// The banner at the start on a terminal: URLs, data, an example request, and how to stop. Otherwise a log line is written.
import process from 'node:process';
import type { Settings } from '../settings/settings.ts';
import { readVersion, softwareName } from '../settings/version.ts';

/** Whether to show the banner: standard output is a terminal, and the log is neither JSON nor quiet. */
export function wantsBanner(settings: Settings): boolean {
  const level = settings.get('log_level');
  return process.stdout.isTTY && settings.get('log_format') !== 'json' && (level === 'info' || level === 'debug');
}

export interface BannerFacts {
  readonly settings: Settings;
  /** URL of the root view, with trailing slash. */
  readonly url: string;
  /** URL of the root view on the admin port; `undefined` without one. */
  readonly adminUrl: string | undefined;
  /** Place of objects and permissions. */
  readonly places: string;
}

/** Returns the banner, with empty lines around it. */
export function formatBanner({ settings, url, adminUrl, places }: BannerFacts): string {
  const name = settings.get('project_name');
  const software = `${softwareName} ${readVersion()}`;
  const consoleUrl = `${adminUrl ?? url}admin/`;
  const facts: readonly (readonly [label: string, text: string | undefined])[] = [
    ['API', url],
    ['Console', settings.get('includes').includes('admin') ? consoleUrl : undefined],
    ['Operators', adminUrl],
    ['Data', places === 'memory' ? 'in memory, lost when the service stops' : places],
    ['Settings', settings.file?.name ?? 'built-in profile; "coffer init" writes a configuration file'],
    ['Try', exampleOf(settings, url)],
    ['Stop', 'Ctrl+C'],
  ];
  const lines = facts.flatMap(([label, text]) => (text === undefined ? [] : [`  ${label.padEnd(10)} ${text}`]));
  return ['', `  ${name === softwareName ? software : `${name} (${software})`}`, '', ...lines, '', ''].join('\n');
}

/** Returns a command that stores a record, if one request is enough for that; otherwise one that reads the root view. */
function exampleOf(settings: Settings, url: string): string {
  const canStore =
    settings.get('includes').includes('default_bucket') &&
    settings.get('multiauth.policies').includes('basicauth') &&
    !settings.get('readonly');
  if (!canStore) return `curl ${url}`;
  const records = `${url}buckets/default/collections/notes/records`;
  return `curl -u alice:secret -H 'Content-Type: application/json' -d '{"data": {"title": "Hello"}}' ${records}`;
}
