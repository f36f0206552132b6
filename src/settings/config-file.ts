// Reads a configuration file, INI or TOML, as lists of settings with their positions, one list for each section.
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, relative, resolve } from 'node:path';
import { codeOf } from '../base/system-errors.ts';
import type { FileEntry } from './layers.ts';
import { interpolate, InterpolationError, parseIni, type IniDocument, type IniEntry, type IniSection } from './ini.ts';
import { withoutCredentials } from './effective.ts';
import { bareKey, SettingsError, type Problem } from './problems.ts';
import { soundsSecret } from './resolve.ts';
import { readToml } from './toml.ts';

/** Facts about the file, for the root view and `coffer check`. */
export interface FileIdentity {
  /** Name without folders. */
  readonly name: string;
  /** SHA-256 of its bytes in hex. */
  readonly hash: string;
  /** Time of the last change, UTC in seconds without zone: `2026-11-21T03:50:00`. */
  readonly modified: string;
  /** Absolute paths of the files that contain secrets: the file itself and those that it uses. */
  readonly secretPaths: readonly string[];
}

export interface ConfigFile {
  readonly identity: FileIdentity;
  /**
   * The entries of the section with the settings, then of the sections that it uses, and last of `[server:main]`, the section
   * of another program. Earlier ones win.
   */
  readonly sections: readonly (readonly FileEntry[])[];
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
  const { secretPaths, ...content } = readContent(decode(bytes, name), name, resolve(path));
  const hash = createHash('sha256').update(bytes).digest('hex');
  return { identity: { name, hash, modified: modified.toISOString().slice(0, 19), secretPaths }, ...content };
}

type Content = Omit<ConfigFile, 'identity'> & Pick<FileIdentity, 'secretPaths'>;

function readContent(content: string, name: string, path: string): Content {
  if (extname(path).toLowerCase() !== '.toml') return readIni(content, name, path);
  const { entries, problems } = readToml(content, name);
  return { sections: [entries], problems, warnings: [], secretPaths: entries.some(isSecret) ? [path] : [] };
}

/** Whether an entry has a name for secrets, or a value with credentials. */
function isSecret({ key, text }: Pick<FileEntry, 'key' | 'text'>): boolean {
  return text !== '' && (soundsSecret(key) || withoutCredentials(text) !== text);
}

function readBytes(path: string, user?: string): { readonly bytes: Buffer; readonly modified: Date } {
  try {
    return { bytes: readFileSync(path), modified: statSync(path).mtime };
  } catch (error) {
    const code = codeOf(error) || 'unknown error';
    const reason = code === 'ENOENT' ? 'the file does not exist' : `the file cannot be read (${code})`;
    throw new SettingsError([
      { message: reason, from: `${user === undefined ? '' : `${user}: `}configuration file ${path}` },
    ]);
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

function readIni(content: string, name: string, path: string): Content {
  const reader = new SectionReader(dirname(path));
  const file = reader.open(content, name, path);
  const section = chooseSection(file, reader.problems);
  if (section !== undefined) reader.read(file, section);
  const withSecrets = reader.files.filter(({ document }) =>
    document.sections.some(({ entries }) => entries.some(isSecret)),
  );
  return {
    secretPaths: [...new Set(withSecrets.map((each) => each.path))],
    sections: [...reader.sections, readServerSection(file)],
    problems: reader.problems,
    warnings: [...describeUnread(file, section), ...describeUnusedDefaults(reader.files)],
  };
}

/** A parsed file. */
interface IniFile {
  /** Name in messages. */
  readonly name: string;
  readonly path: string;
  readonly document: IniDocument;
}

/** Collects the entries of a section and, as PasteDeploy does, of the section that its entry `use` names. */
class SectionReader {
  readonly sections: FileEntry[][] = [];
  readonly problems: Problem[] = [];
  /** The files in the order of their use. */
  readonly files: IniFile[] = [];
  readonly #read = new Set<string>();
  /** Names of files in messages are relative to this folder. */
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  open(content: string, name: string, path: string): IniFile {
    const file = { name, path, document: parseIni(content) };
    this.files.push(file);
    for (const { line, message } of file.document.problems) {
      if (isOurs(sectionAt(file.document, line))) this.problems.push({ message, from: `${name} line ${line}` });
    }
    return file;
  }

  /** Adds the entries of the section whose keys no earlier one has. Values may refer to `[DEFAULT]` of each file so far. */
  read(file: IniFile, section: IniSection): void {
    this.#read.add(`[${section.name}] ${file.path}`);
    const earlier = new Set(this.sections.flat().map(({ key }) => bareKey(key)));
    const entries: FileEntry[] = [];
    this.sections.push(entries);
    const defaults = this.files.toReversed().flatMap(({ document }) => entriesOf(document, 'DEFAULT'));
    let use: FileEntry | undefined;
    for (const entry of section.entries) {
      const text = expand(entry, [...section.entries, ...defaults], file, this.problems);
      if (text === undefined) continue;
      const read = { key: entry.key, text, from: `${file.name} line ${entry.line}` };
      if (entry.key === 'use' && !/^(?:egg|call):/.test(text)) use = read;
      else if (!earlier.has(bareKey(entry.key))) entries.push(read);
    }
    if (use !== undefined) this.#readUsed(file, use);
  }

  #readUsed(file: IniFile, { text, from }: FileEntry): void {
    const [, given, name = 'main'] = /^config:([^#]*)(?:#(.*))?$/s.exec(text) ?? [undefined, undefined, text];
    const used = given === undefined ? file : this.#openUsed(resolve(dirname(file.path), given), from);
    const section =
      given !== undefined && name === 'main'
        ? chooseSection(used, this.problems)
        : findSection(used.document, `app:${name}`);
    const refuse = (message: string): unknown => this.problems.push({ name: 'use', given: text, from, message });
    if (section === undefined) {
      refuse(`${used.name} has no section [app:${name}]; expected egg:…, config:FILE, config:FILE#NAME, or NAME`);
    } else if (this.#read.has(`[${section.name}] ${used.path}`)) {
      refuse(`[${section.name}] of ${used.name} is used by itself`);
    } else this.read(used, section);
  }

  #openUsed(path: string, from: string): IniFile {
    const name = relative(this.#folder, path);
    return this.open(decode(readBytes(path, `${from}: use`).bytes, name), name, path);
  }
}

/** Returns a warning for each section that could contain the settings, and is not read. */
function describeUnread({ name, document }: IniFile, section: IniSection | undefined): readonly string[] {
  return settingsSections
    .filter((candidate) => candidate !== section?.name && findSection(document, candidate) !== undefined)
    .map((candidate) => `${name}: [${candidate}] is not read, because the settings are in [${section?.name}]`);
}

/** Returns a warning about entries of `[DEFAULT]` that no `%(name)s` refers to. They set nothing. */
function describeUnusedDefaults(files: readonly IniFile[]): readonly string[] {
  const texts = files
    .flatMap(({ document }) => document.sections.flatMap(({ entries }) => entries))
    .map(({ text }) => text);
  return files.flatMap(({ name, document }) => {
    const unused = entriesOf(document, 'DEFAULT').filter(
      ({ key }) => !texts.some((text) => text.includes(`%(${key})s`)),
    );
    if (unused.length === 0) return [];
    const names = unused.map(({ key }) => key).join(', ');
    return [`${name}: [DEFAULT] is not read, except where a value refers to it, so these have no effect: ${names}`];
  });
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
function chooseSection({ document, name }: IniFile, earlier: readonly Problem[]): IniSection | undefined {
  for (const candidate of settingsSections) {
    const found = findSection(document, candidate);
    if (found !== undefined) return found;
  }
  const loose = findSection(document, '');
  if (loose !== undefined && loose.entries.length > 0) return loose;
  const apps = document.sections.filter((section) => section.name.startsWith('app:'));
  if (apps.length === 1) return apps[0];
  const others = document.sections.filter(({ name: other }) => other !== '' && other !== 'DEFAULT');
  if (others.length === 0) return undefined;
  const choice = apps.map((app) => `[${app.name}]`).join(', ');
  const advice = choice === '' ? '' : `. Add [app:main] with use = NAME, for one of these applications: ${choice}`;
  const message = `no section contains the settings; expected [app:main]${advice}`;
  throw new SettingsError([...earlier, { message, from: name }]);
}

function findSection(document: IniDocument, name: string): IniSection | undefined {
  return document.sections.find((section) => section.name === name);
}

function entriesOf(document: IniDocument, name: string): readonly IniEntry[] {
  return findSection(document, name)?.entries ?? [];
}

function expand(
  entry: IniEntry,
  named: readonly IniEntry[],
  { name, path }: IniFile,
  problems: Problem[],
): string | undefined {
  const find = (wanted: string): string | undefined => {
    if (wanted === 'here') return dirname(path).replaceAll('%', '%%');
    if (wanted === '__file__') return path.replaceAll('%', '%%');
    return named.find(({ key }) => key === wanted)?.text;
  };
  try {
    return interpolate(entry.text, find);
  } catch (error) {
    if (!(error instanceof InterpolationError)) throw error;
    problems.push({ name: entry.key, message: error.message, from: `${name} line ${entry.line}` });
    return undefined;
  }
}

/** Reads port and host of the web server from a configuration file of Kinto. */
function readServerSection(file: IniFile): readonly FileEntry[] {
  const siblings = entriesOf(file.document, 'server:main');
  const named = [...siblings, ...entriesOf(file.document, 'DEFAULT')];
  return [
    ['port', 'http_port'],
    ['host', 'host'],
  ].flatMap(([theirs, ours]) => {
    const entry = siblings.find(({ key }) => key === theirs);
    // A value that cannot be expanded refers to command-line variables of another program.
    const text = entry === undefined ? undefined : expand(entry, named, file, []);
    if (entry === undefined || text === undefined) return [];
    return [{ key: ours!, text, from: `${file.name} line ${entry.line}` }];
  });
}
