// Tags are comments above a test or a row of a table of tests, `Proves S-001, S-002.`; this finds them, and the name of
// the test that each belongs to.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const projectRoot = path.resolve(import.meta.dirname, '..', '..');

export interface Tag {
  readonly numbers: readonly number[];
  /** Path from the root of the project. */
  readonly file: string;
  readonly line: number;
  /** Of the test, table or suite below the tag; `undefined`: there is none. */
  readonly test: string | undefined;
}

const folders = ['test', 'src/testing'];
const tagLine = /^\s*\/\/ Proves ((?:S-\d{3}(?:, )?)+)\.$/;
/** What looks as if it were meant to be a tag. */
const almost = /\/\/.*\bproves\b.*\bS-?\d/i;
const quoted = /(?<quote>['"`])(?<text>(?:\\.|(?!\k<quote>)[^\\])*)\k<quote>/s;

/** What stands before the name of a test: a scenario, a row of a table, or a call. */
const declaration =
  /(?:^|\n)\s*(?:\{\s*)?name:\s*|^\s*\{?\s*\[\s*|^\s*(?:it|test|describe|describeScenarios|finds|sorts|\w+Case)\(\s*/;

/** All tags of the tests and of the contract suites, by file and line. */
export function readTags(): readonly Tag[] {
  return folders.flatMap((folder) =>
    readdirSync(path.join(projectRoot, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.startsWith('statements'))
      .toSorted()
      .flatMap((name) => {
        const file = path.posix.join(folder, name.replaceAll(path.sep, '/'));
        return findTags(file, readFileSync(path.join(projectRoot, file), 'utf8'));
      }),
  );
}

/**
 * The tags of one file.
 *
 * @throws Error for a comment that is nearly a tag
 */
export function findTags(file: string, text: string): readonly Tag[] {
  const lines = text.split('\n');
  return lines.flatMap((content, index) => {
    const [, list] = tagLine.exec(content) ?? [];
    if (list === undefined) {
      if (almost.test(content)) throw new Error(`${file}:${index + 1} is no tag: ${content.trim()}`);
      return [];
    }
    const numbers = list.split(', ').map((number) => Number(number.slice(2)));
    return [{ numbers, file, line: index + 1, test: withSuite(findName(lines.slice(index + 1)), lines, index) }];
  });
}

/** Names that are no sentences by themselves, such as `are found.`, with that of the suite around them. */
function withSuite(name: string | undefined, lines: readonly string[], index: number): string | undefined {
  if (name === undefined || !/^(?:[a-z%]|It )/.test(name)) return name;
  const indentation = indentationOf(lines[index] ?? '');
  const around = lines
    .slice(0, index)
    .findLastIndex((line) => /^\s*describe\b/.test(line) && indentationOf(line) < indentation);
  const suite = around === -1 ? undefined : findName(lines.slice(around));
  if (suite === undefined) return name;
  return name.startsWith('It ') ? `${suite}: ${name}` : `${suite} ${name}`;
}

function indentationOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** The name of the test that begins here, after other comments. */
function findName(lines: readonly string[]): string | undefined {
  const first = lines.findIndex((line) => !/^\s*(?:\/\/|$)/.test(line));
  if (first === -1) return undefined;
  // No declaration has its name further down, but for those that begin with a table.
  const code = lines.slice(first);
  const [opening = ''] = code;
  if (/\b(?:it|test|describe)\.each\b/.test(opening))
    return nameAfter(code.join('\n'), /^(?:.*\.each\(.*\)|\s*\](?: as const)?\))\(\s*/m);
  const near = code.slice(0, 4).join('\n');
  return nameAfter(near, declaration);
}

/** The text in quotes that follows right after the first match. */
function nameAfter(code: string, start: RegExp): string | undefined {
  const match = start.exec(code);
  if (match === null) return undefined;
  const rest = code.slice(match.index + match[0].length);
  const name = quoted.exec(rest);
  if (name?.index !== 0) return undefined;
  return name.groups!['text']!.replaceAll(/\$\{[^}]*\}|%[a-z]\b/g, '…').replaceAll(/\\(.)/g, '$1');
}
