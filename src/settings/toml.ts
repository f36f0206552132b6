// Reads settings from TOML. Tables are flattened to names with dots, arrays become lists, and all values become text for the
// readers.
import { parse, TomlDate, TomlError, type TomlValueWithoutBigInt } from 'smol-toml';
import type { FileEntry } from './layers.ts';
import { SettingsError, type Problem } from './problems.ts';
import { wrapText } from './readers.ts';

/** Top-level tables that may contain all settings, so that other programs can share the file. */
const topTables = ['coffer', 'svc'];

/**
 * Returns the settings of a TOML document, and problems with values of other types.
 *
 * @throws SettingsError when it is malformed
 */
export function readToml(
  content: string,
  name: string,
): { readonly entries: readonly FileEntry[]; readonly problems: readonly Problem[] } {
  const document = parseToml(content, name);
  const entries: FileEntry[] = [];
  const problems: Problem[] = [];
  for (const [key, value] of Object.entries(document)) {
    const isTop = topTables.includes(key) && isTable(value);
    flatten(isTop ? [] : [key], value, { name, entries, problems });
  }
  return { entries, problems };
}

function parseToml(content: string, name: string): Readonly<Record<string, TomlValueWithoutBigInt>> {
  try {
    return parse(content.replace(/^\uFEFF/, ''), { maxDepth: 20 });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Only the first line of the message: the others quote the file, which contains secrets.
    const reason = error.message.split('\n', 1)[0] ?? 'malformed';
    throw new SettingsError([{ message: reason, from: `${name} line ${error.line}` }]);
  }
}

interface Flattening {
  readonly name: string;
  readonly entries: FileEntry[];
  readonly problems: Problem[];
}

function flatten(path: readonly string[], value: TomlValueWithoutBigInt, into: Flattening): void {
  if (isTable(value)) {
    for (const [key, member] of Object.entries(value)) flatten([...path, key], member, into);
    return;
  }
  const key = path.join('.');
  const text = formatScalar(value);
  if (text === undefined) {
    into.problems.push({
      name: key,
      from: into.name,
      message: 'expected a string, a number, true or false, or a list of them',
    });
  } else {
    into.entries.push({ key, text, from: into.name });
  }
}

function isTable(value: TomlValueWithoutBigInt): value is { readonly [key: string]: TomlValueWithoutBigInt } {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof TomlDate);
}

function formatScalar(value: TomlValueWithoutBigInt): string | undefined {
  if (typeof value === 'string') return wrapText(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value instanceof TomlDate) return value.toISOString();
  if (!Array.isArray(value)) return undefined;
  const isFlat = value.every((item) => ['string', 'number', 'boolean'].includes(typeof item));
  return isFlat ? JSON.stringify(value) : undefined;
}
