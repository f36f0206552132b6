// What of a folder gets into the context of an image: the rules of .dockerignore, of which the last that fits decides.
import { readdirSync } from 'node:fs';
import path from 'node:path';

interface Rule {
  readonly pattern: RegExp;
  readonly isException: boolean;
}

/** Whether a file, by its path with slashes below the context, gets in. */
export function createFilter(dockerignore: string): (file: string) => boolean {
  const rules = dockerignore
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(parseRule);
  return (file) => {
    const parts = file.split('/');
    const chain = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
    // A rule for a folder is one for everything in it.
    const last = rules.findLast(({ pattern }) => chain.some((name) => pattern.test(name)));
    return last === undefined || last.isException;
  };
}

/** Returns the accepted files of a folder. Folders that no rule can accept are not read. */
export function listContext(folder: string, dockerignore: string): readonly string[] {
  const isIn = createFilter(dockerignore);
  const below = (name: string): readonly string[] =>
    readdirSync(path.join(folder, name), { withFileTypes: true, recursive: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'));
  const hasException = (name: string): boolean => dockerignore.includes(`\n!${name}/`);
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !entry.isDirectory() || isIn(`${entry.name}/any`) || hasException(entry.name))
    .flatMap((entry) => (entry.isDirectory() ? below(entry.name) : [entry.name]))
    .filter((name) => isIn(name))
    .toSorted();
}

function parseRule(line: string): Rule {
  const isException = line.startsWith('!');
  const source = (isException ? line.slice(1) : line)
    .replaceAll(/[.+^$()|[\]{}\\]/g, '\\$&')
    .replaceAll('**/', '\0')
    .replaceAll('*', '[^/]*')
    .replaceAll('?', '[^/]')
    .replaceAll('\0', '(?:.*/)?');
  return { pattern: new RegExp(`^${source}$`), isException };
}
