// Deprecated spellings, summarised in one line per source: a file of an existing deployment has dozens of them, and one command
// converts the whole file.
import type { Deprecation } from './resolve.ts';

/** Maximum number of names per line. */
const maxShown = 3;

/**
 * Returns at most two lines: about the configuration file, and about everything else.
 *
 * @param fileName name of the file; positions in it, and in files that it uses, have lines
 * @param path path of the file, for the command
 */
export function summariseDeprecations(
  deprecations: readonly Deprecation[],
  fileName: string | undefined,
  path: string,
): readonly string[] {
  const isInFile = ({ from }: Deprecation): boolean =>
    fileName !== undefined && (from === fileName || / line \d+$/.test(from));
  const inFile = namesOf(deprecations.filter(isInFile));
  const elsewhere = deprecations.filter((each) => !isInFile(each));
  const lines: string[] = [];
  if (inFile.length > 0) {
    const settings = inFile.length === 1 ? '1 setting' : `${inFile.length} settings`;
    lines.push(
      `${path}: ${settings} in a deprecated spelling (${shorten(inFile)}). ` +
        `To print the whole file in current spelling: coffer init --from ${path}`,
    );
  }
  if (elsewhere.length > 0) {
    const notes = elsewhere.map(({ name, from, note }) => `${name} (${from}): ${note}`);
    lines.push(`deprecated spellings: ${[...new Set(notes)].join('; ')}`);
  }
  return lines;
}

function namesOf(deprecations: readonly Deprecation[]): readonly string[] {
  return [...new Set(deprecations.map(({ name }) => name))];
}

function shorten(names: readonly string[]): string {
  const shown = names.slice(0, maxShown).join(', ');
  return names.length > maxShown ? `${shown} and ${names.length - maxShown} more` : shown;
}
