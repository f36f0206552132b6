// Output of comparisons of two stores: a table with a row per kind, or a line per list.
import type { Compared } from '../transfer/copy/verify.ts';

const columns = ['lists', 'objects', 'tombstones', 'digest of the source', 'digest of the target'] as const;
const digestLength = 20;

/** Returns a table with a heading and a row per part. */
export function formatTable(parts: readonly Compared[]): readonly string[] {
  const rows = parts.map(({ name, source, target, differences }) => {
    const isSet = source.lists === 0 && target.lists === 0;
    const count = (a: number, b: number): string => (a === b ? a.toLocaleString('en-US') : `${a} / ${b}`);
    return [
      name,
      isSet ? '' : count(source.lists, target.lists),
      count(source.objects, target.objects),
      isSet ? '' : count(source.tombstones, target.tombstones),
      source.digest.slice(0, digestLength),
      target.digest.slice(0, digestLength),
      differences.length === 0 ? 'same' : 'DIFFERENT',
    ];
  });
  const table = [['', ...columns, ''], ...rows];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  return table.map((row) =>
    row
      .map((cell, column) =>
        column === 0 || column > 3 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
      )
      .join('  ')
      .trimEnd(),
  );
}

/** Returns a line about a list. */
export function formatList({ name, source, target, differences }: Compared): string {
  const outcome = differences.length === 0 ? 'same' : `DIFFERENT: ${differences.join('; ')}`;
  const digests = [source.digest, target.digest].map((digest) => digest.slice(0, digestLength) || '-').join(' ');
  return `${digests}  ${name}, ${source.objects} objects, ${source.tombstones} tombstones: ${outcome}`;
}
