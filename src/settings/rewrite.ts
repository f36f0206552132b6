// Rewrites a configuration file with current names and spellings. Prefixes, dotted names and aliases are replaced; values stay
// the same; settings without effect become comments.
import { basename } from 'node:path';
import { readConfigFile } from './config-file.ts';
import type { Setting, SettingsTable } from './definition.ts';
import { findReasonToIgnore, type SettingsFamily } from './families.ts';
import { canHoldKey, formatAssignment, formatComment, type FileFormat } from './file-format.ts';
import { fileLayer, type Given, type Layer } from './layers.ts';
import type { Problem } from './problems.ts';
import { emptyReport } from './resolve.ts';
import type { Reader } from './readers.ts';
import { generateSecret } from './profile.ts';
import { currentSpelling } from './kinto-names.ts';

export interface RewriteOptions {
  readonly format: FileFormat;
  /** Tables of the core and of plugins. */
  readonly tables: readonly SettingsTable[];
  readonly families: readonly SettingsFamily[];
}

export interface Rewritten {
  readonly text: string;
  /** Settings that were left out or are wrong; the text has comments about the latter. */
  readonly problems: readonly Problem[];
}

const endSection = 'Without effect';

/**
 * Returns the text of a new file with the settings of an old one.
 *
 * @throws SettingsError when the old file cannot be read
 */
export function rewriteConfigFile(path: string, options: RewriteOptions): Rewritten {
  const file = readConfigFile(path);
  const report = emptyReport();
  const layers = file.sections.map((entries) => fileLayer(entries, report));
  const problems: Problem[] = [...file.problems, ...report.problems];
  const writer = new Writer(options, problems);
  for (const layer of layers) writer.takeAll(layer);
  writer.adviseOnAccess();
  return { text: writer.finish(basename(path)), problems };
}

interface KnownSetting {
  readonly key: string;
  readonly row: Setting<unknown>;
}

class Writer {
  readonly #format: FileFormat;
  readonly #families: readonly SettingsFamily[];
  readonly #problems: Problem[];
  readonly #known = new Map<string, KnownSetting>();
  /** Lines by section, in the order of the tables. */
  readonly #sections = new Map<string, string[]>();
  /** Written texts by key. */
  readonly #written = new Map<string, string>();

  constructor({ format, tables, families }: RewriteOptions, problems: Problem[]) {
    this.#format = format;
    this.#families = families;
    this.#problems = problems;
    for (const [key, row] of tables.flatMap((table) => Object.entries(table))) {
      for (const spelling of [key, ...row.aliases]) this.#known.set(spelling, { key, row });
      this.#sections.set(row.section, []);
    }
    this.#sections.set('Other', []);
    this.#sections.set(endSection, []);
  }

  /** Takes the settings of a layer that no earlier one sets under any spelling. */
  takeAll(layer: Layer): void {
    const earlier = new Set(this.#written.keys());
    for (const key of layer.keys) {
      const given = layer.find(key);
      if (given !== undefined && !earlier.has(this.#known.get(key)?.key ?? key)) this.#take(key, given);
    }
  }

  #take(given: string, { name, text, from }: Given): void {
    const reason = findReasonToIgnore(given);
    const known = this.#known.get(given);
    const family = this.#families.find(({ pattern }) => pattern.test(given));
    if (!canHoldKey(known?.key ?? given, this.#format)) {
      this.#problems.push({
        name,
        from,
        message: 'INI files cannot represent this name; kept as a comment. Write a TOML file instead',
      });
      this.#leaveOut('not possible in INI files', given, text);
    } else if (known !== undefined) this.#write(known.row.section, known.key, text, known.row.reader);
    else if (reason !== undefined) this.#leaveOut(reason, given, text);
    else if (family !== undefined) this.#write(this.#sectionOf(given), given, text, family.reader);
    else {
      this.#problems.push({ name, from, message: 'unknown setting; kept as a comment' });
      this.#leaveOut('unknown', given, text);
    }
  }

  #write(section: string, key: string, text: string, reader: Reader<unknown> | undefined): void {
    const lines = this.#sections.get(section) ?? [];
    const reading = reader?.read(text);
    if (reading?.kind === 'wrong') {
      this.#problems.push({ name: key, message: `expected ${reading.expected}` });
      lines.push(...formatComment(`Wrong: expected ${reading.expected}.`));
    }
    const value = currentSpelling(key, text, reading);
    // The old file may contain both the alias and the name.
    if (this.#written.get(key) === value) return;
    this.#written.set(key, value);
    lines.push(...formatAssignment(key, value, this.#format));
    this.#sections.set(section, lines);
  }

  #leaveOut(reason: string, key: string, text: string): void {
    // Settings of other programs are dropped.
    if (reason === '') return;
    const lines = this.#sections.get(endSection) ?? [];
    lines.push(...formatComment(`${key} = ${text}`), ...formatComment(`  (${reason})`));
    this.#sections.set(endSection, lines);
  }

  /** Returns the section of settings with the same prefix. */
  #sectionOf(key: string): string {
    if (key.endsWith('_principals')) return this.#known.get('bucket_create_principals')?.row.section ?? 'Other';
    const beginning = key.slice(0, key.indexOf('.') + 1);
    for (const [known, { row }] of this.#known) if (beginning !== '' && known.startsWith(beginning)) return row.section;
    return 'Other';
  }

  /** Adds the choices for an old file without policies or secrets, which Kinto reads otherwise. The operator has to decide. */
  adviseOnAccess(): void {
    const lines = this.#sections.get(this.#known.get('userid_hmac_secret')?.row.section ?? 'Other') ?? [];
    const isSet = (key: string): boolean => (this.#written.get(key) ?? '') !== '';
    if (!this.#written.has('multiauth.policies')) {
      lines.push(
        ...formatComment(
          'multiauth.policies was not set. In Kinto, all callers are then anonymous; this line keeps that.',
        ),
        ...formatComment(formatAssignment('multiauth.policies', '', this.#format).join('\n')),
      );
    }
    if (!isSet('userid_hmac_secret') && !isSet('userid_hmac_legacy_empty')) {
      lines.push(
        ...formatComment(
          'userid_hmac_secret was not set. The first line sets a new one; the second keeps the user ids that',
        ),
        ...formatComment('Basic authentication derived with an empty secret.'),
        ...formatComment(formatAssignment('userid_hmac_secret', generateSecret(), this.#format).join('\n')),
        ...formatComment(formatAssignment('userid_hmac_legacy_empty', 'true', this.#format).join('\n')),
      );
    }
    const hasBuckets = /\bdefault_bucket\b/.test(this.#written.get('includes') ?? '');
    if (hasBuckets && !isSet('default_bucket_hmac_secret') && !isSet('default_bucket_hmac_legacy_empty')) {
      lines.push(
        ...formatComment(
          'default_bucket_hmac_secret was not set. Kinto then uses an empty one; this line keeps those bucket ids.',
        ),
        ...formatComment(formatAssignment('default_bucket_hmac_legacy_empty', 'true', this.#format).join('\n')),
      );
    }
  }

  finish(name: string): string {
    const lines = [
      ...formatComment(
        `Configuration of a Coffer service, converted from ${name.replaceAll(/\s+/g, ' ')} by: coffer init --from`,
      ),
      '# This file contains secrets: make it readable for the service only.',
      '',
      this.#format === 'ini' ? '[app:main]' : '[coffer]',
    ];
    for (const [section, its] of this.#sections) {
      if (its.length > 0) lines.push('', `# ---- ${section} ----`, '', ...its);
    }
    return `${lines.join('\n')}\n`;
  }
}
