// Configuration files written anew: whatever a value holds, the new file says the same, and nothing more.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { FileFormat } from '../../src/settings/file-format.ts';
import { coreFamilies } from '../../src/settings/families.ts';
import { loadSettings } from '../../src/backends/load-settings.ts';
import { wrapText } from '../../src/settings/readers.ts';
import { rewriteConfigFile } from '../../src/settings/rewrite.ts';
import { coreSettingsFor, tablesOfBackends } from '../../src/settings/table.ts';
import { builtInBackends } from '../../src/backends/built-in-backends.ts';
import { formatTemplate } from '../../src/settings/template.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-rewrite-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function valuesOf(configFile: string): unknown {
  return loadSettings({ configFile, environment: {}, purpose: 'other' }).values;
}

/** Writes the old file anew in the format; returns what both mean, and the problems. */
function rewrite(
  name: string,
  text: string,
  format: FileFormat,
): { before: unknown; after: unknown; problems: string[] } {
  const old = file(name, text);
  const rewritten = rewriteConfigFile(old, {
    format,
    tables: [coreSettingsFor(builtInBackends), ...tablesOfBackends(builtInBackends)],
    families: coreFamilies,
  });
  const made = file(`new.${format}`, rewritten.text);
  const problems = rewritten.problems.map(({ message }) => message);
  return { before: valuesOf(old), after: valuesOf(made), problems };
}

const awkward = [
  'a\rreadonly = true',
  'a\r\nreadonly = true',
  'a\nreadonly = true',
  '#a\nb',
  'a\n;b\n\n[section]',
  ' a\n   b ',
  '"quoted"',
  '"half',
  'null',
  '%(here)s 50%% %',
  'a \u007F\u0000 # b ; c',
  '["a", "b c"]',
];
const formats = ['ini', 'toml'] as const;

describe.each(formats)('A file converted to %s', (format) => {
  it.each(awkward)('keeps the texts and lists of a TOML file: %j', (value) => {
    const toml = JSON.stringify(value).replaceAll('\u007F', '\\u007f');
    const text = `project_name = ${toml}\nbucket_create_principals = ${toml}\n`;
    const { before, after } = rewrite('old.toml', text, format);
    expect(after).toEqual(before);
  });

  it.each(['"quoted"', '"\\"twice\\""', '"half', 'null', '#a\n  b', 'a\n\n  #c\n  b', '50%%', '["a b"]', '"a b"'])(
    'keeps the texts and lists of an INI file: %j',
    (value) => {
      const text = `[app:main]\nproject_name = ${value}\nbucket_create_principals = ${value}\nhttp_port = "8001"\n`;
      const { before, after } = rewrite('old.ini', text, format);
      expect(after).toEqual(before);
    },
  );

  it('keeps lists that are written as JSON in several lines', () => {
    const text = `bucket_create_principals = ${JSON.stringify('[\n  "a",\n  "b c"\n]')}\n`;
    const { before, after } = rewrite('old.toml', text, format);
    expect(after).toEqual(before);
  });

  it('keeps texts of any characters', () => {
    const unit = fc.oneof(
      fc.constantFrom(
        '\r',
        '\n',
        '"',
        "'",
        '#',
        ';',
        '%',
        '(',
        ')',
        's',
        '=',
        '[',
        ']',
        ' ',
        '\t',
        '\\',
        '\u007F',
        '\u2028',
        '\u2029',
        '\u0085',
      ),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
    );
    fc.assert(
      fc.property(fc.string({ unit }), (value) => {
        const toml = JSON.stringify(value).replaceAll('\u007F', '\\u007f');
        const { before, after } = rewrite('old.toml', `project_name = ${toml}\n`, format);
        expect(after).toEqual(before);
      }),
      { numRuns: 200 },
    );
  });

  it('writes no comments that a reader would read as a setting', () => {
    const { before, after, problems } = rewrite('old.toml', 'unknown = "a\\rreadonly = true\\u0000"\n', format);
    expect(after).toEqual(before);
    expect(problems).toEqual(['unknown setting; kept as a comment']);
  });
});

it('names that INI files cannot represent become comments', () => {
  const text = '"multiauth.policy.a\\nreadonly = true\\nb.use" = "x"\n';
  const { after, before, problems } = rewrite('old.toml', text, 'ini');
  expect(after).toEqual(before);
  expect(problems).toEqual([expect.stringContaining('INI files cannot represent this name')]);
});

it.each(['0012345678901234567890123456789012', '12345678901234567890123456789012', 'null', '"quoted"', '50%% of 100%'])(
  'a new file contains the stored secret %s',
  (secret) => {
    for (const format of formats) {
      const choices = {
        format,
        backends: builtInBackends,
        backend: 'sqlite',
        cacheBackend: 'memory',
        host: '127.0.0.1',
        port: 8888,
      } as const;
      const configFile = file(`template.${format}`, formatTemplate({ ...choices, secret: wrapText(secret) }));
      const settings = loadSettings({ configFile, environment: {}, purpose: 'other' });
      expect(settings.get('userid_hmac_secret')).toBe(secret);
    }
  },
);
