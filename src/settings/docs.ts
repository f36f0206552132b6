// The reference page of all settings, made from the table and the families.
import type { BackendSettings } from './backend-settings.ts';
import { environmentName, formatValue, type Setting, type SettingsTable } from './definition.ts';
import { coreFamilies, type SettingsFamily } from './families.ts';
import { defaultFiles } from './load.ts';
import { profileValues } from './profile.ts';
import { coreSettingsFor, tablesOfBackends } from './table.ts';

/** What a plugin adds to the settings. */
export interface AddedSettings {
  readonly settings?: SettingsTable;
  readonly families?: readonly SettingsFamily[];
}

/**
 * Returns the text of `docs/reference/settings.md`.
 *
 * @param backends those of this version, whose settings stand after the choice of backends
 * @param plugins those of this version, whose settings stand after all others
 */
export function formatReference(backends: readonly BackendSettings[], plugins: readonly AddedSettings[] = []): string {
  const core: readonly (readonly [string, Setting<unknown>])[] = Object.entries(coreSettingsFor(backends));
  const end = core.findLastIndex(([, { section }]) => section === 'Connection pools') + 1;
  const families = [...coreFamilies, ...plugins.flatMap((plugin) => plugin.families ?? [])];
  const added = (tables: readonly SettingsTable[]) => tables.flatMap((table) => Object.entries(table));
  // Plugins may share settings.
  const entries = [
    ...new Map([
      ...core.slice(0, end),
      ...added(tablesOfBackends(backends)),
      ...core.slice(end),
      ...added(plugins.map(({ settings }) => settings ?? {})),
    ]),
  ];
  const sections = [...new Set(entries.map(([, row]) => row.section))];
  const parts = [
    introduction(),
    ...sections.map((section) => [
      `## ${section}`,
      ...entries.filter(([, row]) => row.section === section).map(([key, row]) => describeSetting(key, row)),
    ]),
    '## Names that hold a kind or an id',
    'These are looked up when they are needed, in files and in the environment alike.',
    ...families.map(
      ({ form, sentence }) =>
        `### ${form
          .split(', ')
          .map((name) => `\`${name}\``)
          .join(', ')}\n\n${escapeTags(sentence)}`,
    ),
  ];
  return `${parts.flat().join('\n\n')}\n`;
}

function describeSetting(key: string, row: Setting<unknown>): string {
  const value = formatValue(row.default);
  const shown = key === 'project_version' ? 'the version of the software' : value === '' ? 'none' : `\`${value}\``;
  const facts = [
    escapeTags(row.sentence),
    '',
    `- Takes: ${row.reader.form}`,
    `- Default: ${shown}`,
    `- Environment: \`${environmentName(key)}\``,
    ...(row.aliases.length === 0 ? [] : [`- Also written: ${row.aliases.map((alias) => `\`${alias}\``).join(', ')}`]),
    ...(row.isPublic ? ['- Shown in the root view'] : []),
    ...(row.isSecret ? ['- Never printed'] : []),
  ];
  return [`### ${key}`, '', ...facts].join('\n');
}

/** Escapes what Markdown would take for HTML tags, outside of code: `<name>` would disappear from the page. */
function escapeTags(sentence: string): string {
  return sentence.replaceAll(/`[^`]*`|<(?=[a-z])/gi, (found) => (found === '<' ? String.raw`\<` : found));
}

function introduction(): string {
  const profile = Object.entries(profileValues).map(([key, value]) => `    ${key} = ${value}`);
  return `# Settings

This page is made from the table of settings by \`node scripts/write-docs.mjs\`; change it there.

## Where they come from

From the lowest to the highest, each going before the ones above it:

1. The defaults below.
2. Without any configuration file: the profile below.
3. The configuration file: the one named by \`--config\` (or \`--ini\`), else by the environment variable \`SVC_CONFIG\` or
   \`SVC_INI\`, else the first of ${defaultFiles.map((name) => `\`${name}\``).join(', ')} that is there.
4. The environment: \`PORT\` and \`HOST\`, then \`KINTO_…\` (deprecated), then \`SVC_…\`. The name of a variable is the name of
   the setting in upper case, with \`_\` in place of \`.\` and \`-\`.
5. The command line.

Without a configuration file the service keeps everything in \`data/\`, makes a secret once (\`data/secret\`), and runs with

${profile.join('\n')}

A file that is named or found, even an empty one, switches this profile off.

All wrong settings are reported together at start. Names that nothing knows are accepted with a warning that tells the
nearest known one.

## How they are written

INI files have the settings in the section \`[app:main]\`, else \`[main]\`, \`[coffer]\`, \`[svc]\` or \`[settings]\`, else before
any section. Comments start a line with \`#\` or \`;\`, values go on in indented lines, \`%(here)s\` is the folder of the file,
\`%(name)s\` another value of the section, and \`%%\` a percent sign. \`port\` and \`host\` of a section \`[server:main]\` are used
when nothing else sets them.

TOML files may have everything in a table \`[coffer]\` or \`[svc]\`; nested tables are names with points.

Names may have the prefix \`svc.\`, and the deprecated \`kinto.\`. One setting given twice with different text is an error.

Values are read as JSON where they look like it (\`"text"\`, \`["a", "b"]\`, \`null\`). True and false are also \`yes\` \`no\`, \`on\`
\`off\`, \`t\` \`f\`, \`y\` \`n\`, \`1\` \`0\`. Words of a list are separated by blanks, commas or newlines. A list that is given but
empty is empty; an empty text or number counts as not given, unless the setting says otherwise.`;
}
