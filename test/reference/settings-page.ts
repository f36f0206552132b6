// The reference page of all settings, generated from the tables and the families.
import { loadAllBuiltIn } from '../../src/app/built-in-plugins.ts';
import { builtInBackends } from '../../src/backends/built-in-backends.ts';
import { environmentName, formatValue, type Setting, type SettingsTable } from '../../src/settings/definition.ts';
import { coreFamilies } from '../../src/settings/families.ts';
import { defaultFiles } from '../../src/settings/load.ts';
import { profileValues } from '../../src/settings/profile.ts';
import { coreSettingsFor, tablesOfBackends } from '../../src/settings/table.ts';

/** Returns the text of `docs/reference/settings.md`. Settings of backends follow their choice, those of plugins all others. */
export async function formatReference(): Promise<string> {
  const plugins = await loadAllBuiltIn();
  const core: readonly (readonly [string, Setting<unknown>])[] = Object.entries(coreSettingsFor(builtInBackends));
  const end = core.findLastIndex(([, { section }]) => section === 'Connection pools') + 1;
  const families = [...coreFamilies, ...plugins.flatMap((plugin) => plugin.families ?? [])];
  const added = (tables: readonly SettingsTable[]) => tables.flatMap((table) => Object.entries(table));
  // Plugins may share settings.
  const entries = [
    ...new Map([
      ...core.slice(0, end),
      ...added(tablesOfBackends(builtInBackends)),
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
    '## Names with a kind or an id',
    'These settings contain the name of a kind, an id, a policy or a listener. Files and environment variables can set them.',
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
    `- Value: ${row.reader.form}`,
    `- Default: ${shown}`,
    `- Environment: \`${environmentName(key)}\``,
    ...(row.aliases.length === 0 ? [] : [`- Alias: ${row.aliases.map((alias) => `\`${alias}\``).join(', ')}`]),
    ...(row.isPublic ? ['- Shown in the root view'] : []),
    ...(row.isSecret ? ['- Never printed'] : []),
  ];
  return [`### ${key}`, '', ...facts].join('\n');
}

/** Escapes HTML tags outside code: Markdown would drop `<name>`. */
function escapeTags(sentence: string): string {
  return sentence.replaceAll(/`[^`]*`|<(?=[a-z])/gi, (found) => (found === '<' ? String.raw`\<` : found));
}

function introduction(): string {
  const profile = Object.entries(profileValues).map(([key, value]) => `    ${key} = ${value}`);
  return `# Settings

\`node scripts/write-docs.mjs\` generates this page from the tables of settings. Change it there.

## Sources

From the lowest to the highest precedence:

1. The defaults below.
2. Without a configuration file: the profile below.
3. The configuration file: the file given by \`--config\` (or \`--ini\`), otherwise by the environment variable \`SVC_CONFIG\`
   or \`SVC_INI\`, otherwise the first existing one of ${defaultFiles.map((name) => `\`${name}\``).join(', ')}.
4. The environment: \`PORT\` and \`HOST\`, then \`KINTO_…\` (deprecated), then \`SVC_…\`. The name of a variable is the name of
   the setting in upper case, with \`_\` in place of \`.\` and \`-\`.
5. The command line.

Without a configuration file the service stores all data in \`data/\`, creates a secret once (\`data/secret\`), and runs with

${profile.join('\n')}

With a \`host\` that is not a loopback address, the two lines about operators do not apply. Any configuration file, even an
empty one, disables this profile.

At the start, all wrong settings are reported together. Unknown names only cause a warning, which suggests the closest known
name. They prevent the start where they would leave something enabled: misspelt rate limits, and misspelt names of methods
that are \`false\`.

## Syntax

In INI files, the settings are in the section \`[app:main]\`, otherwise \`[main]\`, \`[coffer]\`, \`[svc]\` or \`[settings]\`,
otherwise before the first section. Lines that start with \`#\` or \`;\` are comments. Indented lines continue a value.
\`%(here)s\` is the folder of the file, \`%(name)s\` another value of the section or of \`[DEFAULT]\`, and \`%%\` a percent
sign. \`port\` and \`host\` of a section \`[server:main]\` apply when no other source sets them. \`use = config:FILE\`,
\`use = config:FILE#NAME\` and \`use = NAME\` add the settings of another file or of a section \`[app:NAME]\`. The settings of the
section itself win, also over other names of the same settings. Values of a used file may refer to \`[DEFAULT]\` of the
file that uses it.

In TOML files, the settings may be in a table \`[coffer]\` or \`[svc]\`. Nested tables are names with dots.

Names may have the prefix \`svc.\` or the deprecated \`kinto.\`. Two different values for one setting in one source are an error.

Values may be written as JSON (\`"text"\`, \`["a", "b"]\`, \`null\`). \`true\` and \`false\` may also be \`yes\` \`no\`, \`on\` \`off\`,
\`t\` \`f\`, \`y\` \`n\`, \`1\` \`0\`. Blanks, commas or newlines separate the words of a list. An empty list is empty; an empty text
or number counts as not set, unless the setting says otherwise.`;
}
