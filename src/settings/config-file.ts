// Reads a configuration file, INI or TOML, as a flat list of settings with their positions.
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, resolve } from 'node:path';
import type { FileEntry } from './layers.ts';
import { interpolate, InterpolationError, parseIni, type IniDocument, type IniEntry, type IniSection } from './ini.ts';
import { SettingsError, type Problem } from './problems.ts';
import { readToml } from './toml.ts';

/** Facts about the file for the root view. */
export interface FileIdentity {
  /** Name without folders. */
  readonly name: string;
  /** SHA-256 of its bytes in hex. */
  readonly hash: string;
  /** Time of the last change, UTC in seconds without zone: `2026-11-21T03:50:00`. */
  readonly modified: string;
}

export interface ConfigFile {
  readonly identity: FileIdentity;
  readonly entries: readonly FileEntry[];
  /** Settings from `[server:main]`, the section of another program; used when no other source sets them. */
  readonly fallbacks: readonly FileEntry[];
  readonly warnings: readonly string[];
  /** Unusable lines and values; the entries are the others. */
  readonly problems: readonly Problem[];
}

/**
 * Reads a file; `.toml` is TOML, everything else INI.
 *
 * @throws SettingsError when the file is missing or unreadable, or no section contains the settings
 */
export function readConfigFile(path: string): ConfigFile {
  const name = basename(path);
  const { bytes, modified } = readBytes(path);
  const identity: FileIdentity = {
    name,
    hash: createHash('sha256').update(bytes).digest('hex'),
    modified: modified.toISOString().slice(0, 19),
  };
  const content = decode(bytes, name);
  if (extname(path).toLowerCase() === '.toml') {
    return { identity, ...readToml(content, name), fallbacks: [], warnings: [] };
  }
  return { identity, ...readIni(content, name, resolve(path)) };
}

function readBytes(path: string): { readonly bytes: Buffer; readonly modified: Date } {
  try {
    return { bytes: readFileSync(path), modified: statSync(path).mtime };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    const reason = code === 'ENOENT' ? 'the file does not exist' : `the file cannot be read (${code})`;
    throw new SettingsError([{ message: reason, from: `configuration file ${path}` }]);
  }
}

function decode(bytes: Buffer, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new SettingsError([{ message: 'the file is not UTF-8 text', from: name }]);
  }
}

/** Sections that may contain the settings; the first existing one is read. */
const settingsSections = ['app:main', 'main', 'coffer', 'svc', 'settings'];

function readIni(content: string, name: string, path: string): Omit<ConfigFile, 'identity'> {
  const document = parseIni(content);
  const problems: Problem[] = document.problems
    .filter(({ line }) => isOurs(sectionAt(document, line)))
    .map(({ line, message }) => ({ message, from: `${name} line ${line}` }));
  const section = chooseSection(document, name, problems);
  const context = { name, path, defaults: entriesOf(document, 'DEFAULT') };
  const entries = (section?.entries ?? []).flatMap((entry) => {
    const text = expand(entry, section?.entries ?? [], context, problems);
    return text === undefined ? [] : [{ key: entry.key, text, from: `${name} line ${entry.line}` }];
  });
  const unused = settingsSections.filter((candidate) => candidate !== section?.name && hasSection(document, candidate));
  return {
    entries,
    problems,
    fallbacks: readServerSection(document, context),
    warnings: [
      ...unused.map(
        (candidate) => `${name}: [${candidate}] is not read, because the settings are in [${section?.name}]`,
      ),
      ...describeUnusedDefaults(document, context),
    ],
  };
}

/** Returns a warning about entries of `[DEFAULT]` that no `%(name)s` refers to. They set nothing. */
function describeUnusedDefaults({ sections }: IniDocument, { name, defaults }: IniContext): readonly string[] {
  const texts = sections.flatMap(({ entries }) => entries.map(({ text }) => text));
  const unused = defaults.filter(({ key }) => !texts.some((text) => text.includes(`%(${key})s`)));
  if (unused.length === 0) return [];
  const names = unused.map(({ key }) => key).join(', ');
  return [`${name}: [DEFAULT] is not read, except where a value refers to it, so these have no effect: ${names}`];
}

/** Whether a section follows our rules. Other programs have different ones: uWSGI repeats keys, for example. */
function isOurs(section: string): boolean {
  return !/^(?:uwsgi|loggers?|handlers?|formatters?|(?:logger|handler|formatter)_.*|alembic|supervisord|program:.*)$/.test(
    section,
  );
}

function sectionAt(document: IniDocument, line: number): string {
  return document.sections.findLast((section) => section.line <= line)?.name ?? '';
}

/** @throws SettingsError with the earlier problems too, because a malformed heading may be the missing one */
function chooseSection(document: IniDocument, name: string, earlier: readonly Problem[]): IniSection | undefined {
  for (const candidate of settingsSections) {
    const found = document.sections.find((section) => section.name === candidate);
    if (found !== undefined) return found;
  }
  const loose = document.sections.find((section) => section.name === '');
  if (loose !== undefined && loose.entries.length > 0) return loose;
  const apps = document.sections.filter((section) => section.name.startsWith('app:'));
  if (apps.length === 1) return apps[0];
  const others = document.sections.filter(({ name: other }) => other !== '' && other !== 'DEFAULT');
  if (others.length === 0) return undefined;
  throw new SettingsError([
    ...earlier,
    { message: 'no section contains the settings; expected [app:main]', from: name },
  ]);
}

function hasSection(document: IniDocument, name: string): boolean {
  return document.sections.some((section) => section.name === name);
}

function entriesOf(document: IniDocument, name: string): readonly IniEntry[] {
  return document.sections.find((section) => section.name === name)?.entries ?? [];
}

interface IniContext {
  readonly name: string;
  readonly path: string;
  readonly defaults: readonly IniEntry[];
}

function expand(
  entry: IniEntry,
  siblings: readonly IniEntry[],
  context: IniContext,
  problems: Problem[],
): string | undefined {
  const find = (wanted: string): string | undefined => {
    if (wanted === 'here') return dirname(context.path).replaceAll('%', '%%');
    if (wanted === '__file__') return context.path.replaceAll('%', '%%');
    return [...siblings, ...context.defaults].find(({ key }) => key === wanted)?.text;
  };
  try {
    return interpolate(entry.text, find);
  } catch (error) {
    if (!(error instanceof InterpolationError)) throw error;
    problems.push({ name: entry.key, message: error.message, from: `${context.name} line ${entry.line}` });
    return undefined;
  }
}

/** Reads port and host of the web server from a configuration file of Kinto. */
function readServerSection(document: IniDocument, context: IniContext): readonly FileEntry[] {
  const siblings = entriesOf(document, 'server:main');
  return [
    ['port', 'http_port'],
    ['host', 'host'],
  ].flatMap(([theirs, ours]) => {
    const entry = siblings.find(({ key }) => key === theirs);
    // A value that cannot be expanded refers to command-line variables of another program.
    const text = entry === undefined ? undefined : expand(entry, siblings, context, []);
    if (entry === undefined || text === undefined) return [];
    return [{ key: ours!, text, from: `${context.name} line ${entry.line}` }];
  });
}
