// Reader of the INI dialect of existing deployments: sections, comments, indented continuation lines, and `%(name)s` for
// other values. It reads the whole file, including sections of other programs.

export interface IniEntry {
  readonly key: string;
  readonly text: string;
  readonly line: number;
}

export interface IniSection {
  /** Name between the brackets; empty for entries before any section. */
  readonly name: string;
  readonly line: number;
  readonly entries: readonly IniEntry[];
}

/** A syntax error. */
export interface IniProblem {
  readonly line: number;
  readonly message: string;
}

export interface IniDocument {
  readonly sections: readonly IniSection[];
  readonly problems: readonly IniProblem[];
}

/** Splits the text into sections and entries. Values are raw: `%(name)s` is not expanded. */
export function parseIni(text: string): IniDocument {
  const reader = new IniReader();
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  for (const [index, line] of lines.entries()) reader.take(line, index + 1);
  return reader.finish();
}

interface OpenEntry {
  readonly key: string;
  readonly line: number;
  readonly indentation: number;
  readonly parts: string[];
}

class IniReader {
  readonly #problems: IniProblem[] = [];
  readonly #sections: { name: string; line: number; entries: OpenEntry[] }[] = [{ name: '', line: 1, entries: [] }];
  #entry: OpenEntry | undefined;

  take(raw: string, line: number): void {
    const content = raw.trim();
    if (content === '') {
      // Blank lines inside a value belong to it; `finish` trims those at its end.
      this.#entry?.parts.push('');
      return;
    }
    if (content.startsWith('#') || content.startsWith(';')) return;
    const indentation = raw.length - raw.trimStart().length;
    if (this.#entry !== undefined && indentation > this.#entry.indentation) {
      this.#entry.parts.push(content);
    } else if (content.startsWith('[')) {
      this.#openSection(content, line);
    } else {
      this.#openEntry(content, line, indentation);
    }
  }

  finish(): IniDocument {
    const sections = this.#sections.map(({ name, line, entries }) => ({
      name,
      line,
      entries: entries.map((entry) => ({ key: entry.key, line: entry.line, text: entry.parts.join('\n').trim() })),
    }));
    return { sections, problems: this.#problems };
  }

  #openSection(content: string, line: number): void {
    this.#entry = undefined;
    const name = /^\[([^\]]+)\]\s*(?:[#;].*)?$/s.exec(content)?.[1];
    if (name === undefined) {
      this.#complain(line, 'malformed section; expected [name]');
      return;
    }
    const earlier = this.#sections.find((section) => section.name === name);
    if (earlier !== undefined) this.#complain(line, `the section [${name}] already exists in line ${earlier.line}`);
    this.#sections.push({ name, line, entries: [] });
  }

  #openEntry(content: string, line: number, indentation: number): void {
    this.#entry = undefined;
    const match = /^(.*?)\s*[=:]\s*(.*)$/s.exec(content);
    const key = match?.[1];
    if (key === undefined || key === '') {
      // The message does not quote the line, which may be part of a secret.
      this.#complain(line, 'expected key = value, a [section], or a comment');
      return;
    }
    const { entries } = this.#sections.at(-1)!;
    const earlier = entries.find((entry) => entry.key === key);
    if (earlier !== undefined) this.#complain(line, `${key} is already set in line ${earlier.line}`);
    this.#entry = { key, line, indentation, parts: [match?.[2] ?? ''] };
    entries.push(this.#entry);
  }

  #complain(line: number, message: string): void {
    this.#problems.push({ line, message });
  }
}

const maxNesting = 10;

/** A `%(name)s` refers to a missing value, or to itself. */
export class InterpolationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InterpolationError';
  }
}

/**
 * Replaces `%(name)s` by the value of that name, recursively, and `%%` by `%`. Keeps other percent signs.
 *
 * @throws InterpolationError
 */
export function interpolate(text: string, find: (name: string) => string | undefined, nesting = 0): string {
  if (nesting > maxNesting) throw new InterpolationError('values refer to each other in a circle');
  return text.replaceAll(/%%|%\(([^)]*)\)s/g, (match: string, name: string | undefined) => {
    if (match === '%%' || name === undefined) return '%';
    const found = find(name);
    if (found === undefined) throw new InterpolationError(`${match} refers to ${name}, which is not set`);
    return interpolate(found, find, nesting + 1);
  });
}
